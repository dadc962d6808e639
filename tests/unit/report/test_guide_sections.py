"""Sections that the guides ask for, with figures counted by hand: copies, fusion, grades, memory, phases."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest

from ascend_sn import analysis
from ascend_sn.report.assemble.run import assemble
from ascend_sn.report.documents.run import Document
from ascend_sn.report.documents.views import Selection, View, selection_of, view_of
from ascend_sn.report.html.run import html_text
from ascend_sn.report.markdown.run import markdown_text
from ascend_sn.report.terminal.run import write_screen
from ascend_sn.report.terminal.wrapping import cell_width
from ascend_sn.report.words.language import CODES, Code, Language
from tests.timeline import insert, timeline, together
from tests.unit.analysis.traces import Row, collective, database, kernel, numbered, operator, step
from tests.unit.report.drawn import DrawnRun, two_ranks

ENGLISH = Language.load("en")
FUSION = view_of(memory=False, communication=False, fusion=True, top_k=None)
MEMORY = view_of(memory=True, communication=False, fusion=False, top_k=None)
COMMUNICATION = view_of(memory=False, communication=True, fusion=False, top_k=None)
SHAPED: dict[str, Any] = {
    "input_shapes": "8,8",
    "input_dtypes": "FLOAT",
    "output_shapes": "8,8",
    "output_dtypes": "FLOAT",
}
QUIET = Selection(advice=False)  # what the rules say is tested beside them
NAMES = {"M": "Mul", "A": "Add", "R": "Relu", "X": "Exp"}


def screen(document: Document, view: View, code: Code = "en") -> str:
    stream = io.StringIO()
    write_screen(document, Language.load(code), stream, view, width=80)
    return stream.getvalue()


def line_of(text: str, beginning: str) -> str:
    (line,) = [line for line in (" ".join(line.split()) for line in text.splitlines()) if line.startswith(beginning)]
    return line


def run_of(rows: list[Row]) -> DrawnRun:
    db = database(rows)
    db.execute("update profile set format = 'drawn', source = 'r'")
    return DrawnRun(db)


def of_rows(rows: list[Row]) -> Document:
    return assemble(run_of(rows), ENGLISH, QUIET)


def chain(letters: str, profile_id: int = 0) -> list[Row]:
    """A step of kernels back to back, 10 ns each, every one handing 256 bytes to the next."""
    rows = [step(0, 10 * len(letters), 1)]
    rows += [kernel(10 * at, 10, NAMES[letter], step_id=0, **SHAPED) for at, letter in enumerate(letters)]
    return numbered([(table, {"profile_id": profile_id, **values}) for table, values in rows])


def fused_and_not() -> list[Row]:
    """Three SwiGlu of 7 ns, a lone Sigmoid of 6 and Mul of 10, and Mul+Add+Relu three times."""
    rows = chain("MARMARXMAR")
    rows += [("kernel", {**kernel(200 + 40 * at, 7, "SwiGlu", **SHAPED)[1], "kernel_id": 90 + at}) for at in range(3)]
    return [*rows, ("kernel", {**kernel(400, 6, "Sigmoid")[1], "kernel_id": 99})]


def test_candidates_are_summed_over_the_ranks_and_priced_by_replay() -> None:
    # each of the three instances takes 30 ns and would take 10: the step of 100 ns becomes one of 40
    document = of_rows([*chain("MARMARXMAR"), *chain("MARMARXMAR", 1)])

    assert document.fusion is not None
    (row,) = document.fusion.patterns
    assert (row.pattern, row.state, row.instances) == ("Mul+Add+ReLU", "candidate", 6)
    assert (row.before_ns, row.after_ns, row.saving_ns, row.saving_ratio) == (180, 60.0, 120.0, 120 / 180)
    assert row.share_ratio == pytest.approx(0.9)
    assert row.gain is not None
    assert (row.gain.expected_ns, row.gain.expected_ratio) == (60, 0.6)


def test_the_fusion_rate_is_that_of_all_instances() -> None:
    document = of_rows(fused_and_not())

    assert document.fusion is not None
    assert (document.fusion.fused_instances, document.fusion.candidate_instances) == (3, 3)
    assert document.fusion.fusion_ratio == 0.5


def test_the_fusion_report_shows_before_after_and_saving() -> None:
    text = screen(of_rows(fused_and_not()), FUSION)

    assert "50 % fused: 3 of 6 instances" in text
    assert line_of(text, "Sigmoid+Mul") == "Sigmoid+Mul 3 100 % ~48 ns 21 ns 27 ns 56 %"
    assert line_of(text, "Mul+Add+ReLU").startswith("Mul+Add+ReLU 3 0 % 90 ns 30 ns 60 ns 67 %")
    assert "an estimate" in text
    assert "Step breakdown" not in text


def test_a_saving_that_is_not_known_is_not_zero() -> None:
    rows = [operator("a", 0, 1, module="Net.act"), operator("b", 0, 1, module="Net.other")]
    rows += [kernel(20 * at, 10, "MAX"[at % 3], operator_id=int(at % 3 == 2)) for at in range(9)]

    text = screen(of_rows(numbered(rows)), FUSION)

    assert line_of(text, "M+A") == "M+A 3 0 % 60 ns - -"  # and no price on top of it
    assert "Without shapes" in text


def test_where_no_kernel_is_tied_to_the_next_the_report_says_what_to_collect() -> None:
    run = run_of(numbered([kernel(10 * at, 10, "MAR"[at % 3]) for at in range(9)]))
    insert(run.db, "coverage", rank=0, table_name="kernel", column_name="output_shapes", state="not_requested",
           reason="record_shapes was off", turn_on="record_shapes=True")  # fmt: skip

    text = " ".join(screen(assemble(run, ENGLISH, QUIET), FUSION).split())

    assert "Fusion not collected: record_shapes was off (turn on: record_shapes=True)" in text


def test_no_pattern_is_a_result_too() -> None:
    assert "no kernel is fused" in screen(of_rows(chain("MX")), FUSION)


def test_copies_are_summed_over_the_ranks() -> None:
    # rank 0: 7 ns of copy, 2 under A and 2 under C; rank 1: 3 ns, all exposed
    db = timeline(
        """
        r0 step |1111111111|
        r0 s1   |AAA.......|
        r0 s2   |....CC....|
        r0 s3   |.HHHHHHH..|
        r1 step |1111111111|
        r1 s1   |AAA.......|
        r1 s3   |...HHH....|
        """,
        kinds={"C": "communication", "H": "copy"},
    )
    db.execute("update kernel set copy_direction = 'h2d', size_bytes = 10 * dur_ns where kind = 'copy'")
    db.execute("update kernel set name = 'Memcpy HtoD (Pageable -> Device)' where kind = 'copy'")

    document = assemble(DrawnRun(db), ENGLISH, QUIET)

    assert document.copies is not None
    (row,) = document.copies.rows
    assert (row.direction, row.host_memory, row.calls, row.total_ns) == ("h2d", "pageable", 2, 10)
    assert (row.exposed_ns, row.overlapped_ns, row.exposed_share_ratio) == (6, 4, 0.3)
    assert row.size_bytes == 100
    assert row.bandwidth_bytes_per_s == pytest.approx(10e9)
    assert (document.copies.exposed_ns, document.copies.window_ns) == (6, 20)
    assert line_of(screen(document, MEMORY), "H2D pageable") == ("H2D pageable 2 10 ns 6 ns 30 % 4 ns 100 B 10.0 GB/s")


def test_no_copy_is_told_from_no_record() -> None:
    document = of_rows(chain("MX"))

    assert document.copies is not None
    assert (document.copies.collected, document.copies.state) == (False, "empty")
    assert "no memory copy was recorded" in screen(document, MEMORY)


def test_the_grade_tells_waiting_from_moving_bytes() -> None:
    # 800 of 1,000 ns exposed: 100 moving bytes, 700 waiting
    rows = [step(0, 1_000, 1), kernel(0, 800, "R", "communication", step_id=0)]
    rows.append(collective(0, 800, kernel_id=0, transit_ns=100, wait_ns=700, idle_ns=0, method="recorded"))

    document = of_rows(numbered(rows))

    (grade,) = document.communication.grades
    assert (grade.grade, grade.main_part, grade.exposed_transit_ratio) == ("normal", "wait", 0.1)
    text = screen(document, COMMUNICATION)
    assert line_of(text, "rank 0 800 ns") == "rank 0 800 ns 80 % 10 % 70 % 0 % 0 % normal"
    assert "a faster network does not help" in " ".join(text.split())


def waiting_pair() -> DrawnRun:
    """One all-reduce; rank 0 waits 7 ms for rank 1, over a link that reaches 14 of 28 GB/s."""
    db = timeline("r0 step |1111|\nr0 s2 |CC..|", kinds={"C": "communication"})
    db.execute("update profile set device_name = 'Ascend910B3'")
    insert(db, "collective", rank=0, collective_id=0, kernel_id=0, op="allreduce", group_id="g", ts_ns=0, dur_ns=2)
    insert(db, "comm_task", rank=0, collective_id=0, name="Notify_Wait", src_rank=0, dst_rank=1, dur_ns=7_000_000)
    insert(db, "link", rank=0, group_id="g", src_rank=0, dst_rank=1, rank_scope="group", transport="HCCS",
           size_bytes=1_400, dur_ns=100)  # fmt: skip
    return DrawnRun(db)


def test_the_communication_report_names_who_waits_for_whom() -> None:
    document = assemble(waiting_pair(), ENGLISH, QUIET)

    (pair,) = document.communication.pairs
    assert (pair.src_rank, pair.dst_rank, pair.mean_wait_ns, pair.bandwidth_ratio) == (0, 1, 7_000_000, 0.5)
    assert line_of(screen(document, COMMUNICATION), "0 > 1 in group 7") == "0 > 1 in group 7.00 ms 14.0 GB/s 50 %"
    markdown, page = markdown_text(document, ENGLISH, View()), html_text(document, ENGLISH, View())
    assert "| 0 \u2192 1 in group | 7.00 ms | HCCS | 1.37 KiB | 14.0 GB/s | 50 % |" in markdown
    assert "Waits between ranks" in page


@pytest.mark.parametrize(
    ("transit", "said"),
    [
        (100, "optimise operators"),
        (200, "gradient compression"),
        (400, "adjust the parallel strategy"),
        (600, "redesign the parallel strategy"),
    ],
)
def test_each_grade_has_its_direction(transit: int, said: str) -> None:
    rows = [step(0, 1_000, 1), kernel(0, transit, "R", "communication", step_id=0)]
    rows.append(collective(0, transit, kernel_id=0, transit_ns=transit, wait_ns=0, idle_ns=0, method="recorded"))

    assert said in " ".join(screen(of_rows(numbered(rows)), COMMUNICATION).split())


def test_the_phases_of_the_step_stand_with_the_communication() -> None:
    db = timeline(
        """
        r0 step |1111111111|
        r0 host |dd........|
        r0 s1   |..FFFBB..O|
        r0 s2   |.......CC.|
        """,
        kinds={"C": "communication"},
        launched_by={"F": "forward", "B": "backward", "O": "optimizer"},
    )
    insert(db, "collective", rank=0, collective_id=0, op="allreduce", ts_ns=7, dur_ns=2)

    lines = screen(assemble(DrawnRun(db), ENGLISH, QUIET), COMMUNICATION).splitlines()

    at = next(number for number, line in enumerate(lines) if line.startswith("Step by phase"))
    assert lines[at + 1].split() == ["data", "forward", "backward", "communication", "optimizer", "other"]
    assert lines[at + 2].split() == ["rank", "0", *["2", "ns", "3", "ns", "2", "ns", "2", "ns", "1", "ns", "0", "ns"]]
    assert lines[at + 3].split() == [*["20", "%", "30", "%", "20", "%", "20", "%", "10", "%", "0", "%"]]


def allocations() -> DrawnRun:
    """The curve goes 4, 6, 2, 7, 12, 10: `a` keeps 5, `c` keeps 5; at 50 ns `a`, `b` and `c` hold 12."""
    db = timeline("r0 s1 |A|")
    placed = [(10, "a", 4, "1"), (20, "b", 2, "2"), (30, "a", -4, "1"), (40, "a", 5, "3"), (50, "c", 5, "4"),
              (60, "b", -2, "2")]  # fmt: skip
    with together(db):
        for moment, name, size, address in placed:
            insert(db, "memory_event", rank=0, ts_ns=moment, kind="alloc" if size > 0 else "free", size_bytes=abs(size),
                   address=address, device="npu:0", operator_name=name)  # fmt: skip
    return DrawnRun(db)


def test_the_memory_report_has_a_total_that_is_the_curve() -> None:
    document = assemble(allocations(), ENGLISH, QUIET)

    total = document.memory.total
    assert total is not None
    assert (total.retained_bytes, total.peak_bytes, total.allocation_count) == (10, 12, 4)
    text = screen(document, MEMORY)
    assert line_of(text, "all (npu:0)") == "all (npu:0) 10 B 12 B 4"
    assert line_of(text, "a 5 B 5 B") == "a 5 B 5 B 2"


def test_hot_spots_are_who_holds_the_peak() -> None:
    document = assemble(allocations(), ENGLISH, QUIET)

    spots = document.memory.hot_spots
    assert spots is not None
    assert (spots.device, spots.peak_ts_ns, spots.device_bytes, spots.holder_count) == ("npu:0", 50, 12, 3)
    assert [(row.operator_name, row.held_bytes) for row in spots.holders] == [("a", 5), ("c", 5), ("b", 2)]


def test_the_memory_of_an_accelerator_goes_before_that_of_the_host() -> None:
    run = allocations()
    insert(run.db, "memory_event", rank=0, ts_ns=5, kind="alloc", size_bytes=1 << 20, address="9", device="cpu",
           operator_name="host")  # fmt: skip

    memory = assemble(run, ENGLISH, QUIET).memory

    assert memory.total is not None
    assert memory.hot_spots is not None
    assert (memory.total.component, memory.total.allocation_count, memory.hot_spots.device) == ("npu:0", 4, "npu:0")
    assert "host" not in {row.operator_name for row in memory.operators}


def loading(data_ns: int, rest_ns: int) -> Document:
    whole = data_ns + rest_ns
    db = timeline(
        f"r0 step |{'1' * whole}|\nr0 host |{'d' * data_ns}{'f' * rest_ns}|\nr0 s1 |{'.' * data_ns}{'A' * rest_ns}|"
    )
    return assemble(DrawnRun(db), ENGLISH, QUIET)


def test_waiting_for_data_is_told_with_its_verdict() -> None:
    text = " ".join(screen(loading(12, 55), View()).split())

    assert "Waiting for data takes 12 ns of a step on rank 0 (18 %), the rest 55 ns;" in text
    assert "bottleneck: the rest of the step." in text


def test_what_the_verdict_says_of_data_is_not_said_twice() -> None:
    text = " ".join(screen(loading(45, 55), View()).split())

    limits = "on rank 0 45 ns of 100 ns per step on average (45 %) is waiting for data."
    assert f"Data loading limits this job: {limits}" in text
    assert "Waiting for data takes" not in text


def test_operators_have_the_columns_of_the_guide() -> None:
    rows = [
        operator("aten::mm", 0, 3, input_bytes=2_048, output_bytes=1_024),
        operator("aten::mm", 5, 3, input_bytes=2_048, output_bytes=1_024),
        kernel(10, 40, "MatMul", operator_id=0),
        kernel(50, 60, "MatMul", operator_id=1),
    ]

    text = screen(of_rows(numbered(rows)), View())

    at = text.splitlines().index(next(line for line in text.splitlines() if line.startswith("Operators")))
    assert text.splitlines()[at + 1].split() == ["calls", "device", "mean", "host", "input", "output", "share"]
    assert line_of(text, "aten::mm") == "aten::mm 2 100 ns 50 ns 6 ns 4.00 KiB 2.00 KiB 100 %"


def test_the_plain_screen_works_out_nothing_that_it_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    worked_out = analysis.worked_out

    def counted(run: Any, name: str) -> Any:
        asked.append(name)
        return worked_out(run, name)

    monkeypatch.setattr("ascend_sn.advisor.facts.worked_out", counted)

    document = assemble(two_ranks(), ENGLISH, replace(selection_of(view=View(), screen_only=True), advice=False))

    assert (document.copies, document.fusion) == (None, None)
    # Of the pairs of ranks the verdict says which absent member is waited for; the table of them is not on the screen.
    assert document.communication is not None
    assert not document.communication.pairs
    assert not {
        "copies",
        "fusion_candidates",
        "memory_by_operator",
        "memory_at_peak",
        "link_matrix",
    } & set(asked)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("view", [FUSION, MEMORY, COMMUNICATION], ids=["fusion", "memory", "communication"])
def test_every_report_fits_80_columns_in_both_languages(code: str, view: View) -> None:
    chosen: Code = "zh" if code == "zh" else "en"
    for run in (run_of(fused_and_not()), allocations(), two_ranks(), waiting_pair()):
        text = screen(assemble(run, Language.load(chosen), QUIET), view, chosen)

        assert max(cell_width(line) for line in text.splitlines()) <= 80
        assert "\u2026" not in text


def test_pages_hold_the_same_sections() -> None:
    document = of_rows(fused_and_not())

    markdown, page = markdown_text(document, ENGLISH, View()), html_text(document, ENGLISH, View())

    assert "| Sigmoid+Mul | 3 | 100 % | \\~48 ns | 21 ns | 27 ns (56 %) |" in markdown
    assert "50 % fused: 3 of 6 instances" in markdown
    assert "50 % fused: 3 of 6 instances" in page
    assert "<td>27 ns (56 %)</td>" in page
    assert "no memory copy was recorded" in page


def test_a_page_of_memory_has_total_and_hot_spots() -> None:
    document = assemble(allocations(), ENGLISH, QUIET)

    markdown, page = markdown_text(document, ENGLISH, View()), html_text(document, ENGLISH, View())

    assert "| all (npu:0) | 10 B | 12 B | 4 |" in markdown
    assert "At the peak" in page
    assert "all (npu:0)" in page
