"""The document: figures counted by hand from drawn runs, absence, bounds, schema."""

from __future__ import annotations

import io
import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from ascend_sn.advisor import rules
from ascend_sn.cli.reference import pages
from ascend_sn.report.assemble.run import assemble
from ascend_sn.report.documents.as_json import analyze_schema, doctor_schema, json_text
from ascend_sn.report.documents.run import Document
from ascend_sn.report.documents.views import Selection
from ascend_sn.report.health_page import doctor_document, write_health
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.wording import subject_text
from tests.timeline import insert, timeline
from tests.unit.report.drawn import DrawnRun, add_rank, drawn_document, nothing, two_ranks

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference"
ENGLISH = Language.load("en")


@pytest.fixture(scope="module")
def document() -> Document:
    return drawn_document()


def test_the_median_step_of_each_rank_is_there_whole(document: Document) -> None:
    ranks = [
        (
            step.rank,
            step.step_count,
            step.window_ns,
            step.compute_ns,
            step.overlapped_ns,
            step.exposed_comm_ns,
            step.free_ns,
        )
        for step in document.breakdown.ranks
    ]

    assert ranks == [(0, 2, 10, 5, 2, 3, 2), (1, 2, 10, 7, 1, 1, 2)]


def test_parts_of_a_step_add_up(document: Document) -> None:
    for step in document.breakdown.ranks:
        assert step.compute_ns + step.exposed_comm_ns + step.exposed_copy_ns + step.free_ns == step.window_ns


def test_kernel_types_are_summed_over_the_ranks(document: Document) -> None:
    rows = [(row.op_type, row.calls, row.total_ns, row.mean_ns) for row in document.operators.kernels]

    assert rows == [("A", 4, 20, 5), ("B", 4, 4, 1)]
    assert document.operators.kernels[0].share_ratio == pytest.approx(20 / 24)
    assert document.operators.kernels[-1].cumulative_ratio == 1.0


def test_communication_is_summed_over_the_ranks(document: Document) -> None:
    total = document.communication.total

    assert total is not None
    assert (total.calls, total.total_ns, total.transit_ns, total.wait_ns, total.idle_ns) == (4, 14, 4, 0, 10)
    assert (total.exposed_ns, total.exposed_share_ratio) == (8, 8 / 40)
    assert total.size_bytes == 4_000_000


def test_pairs_of_ranks_are_summed_over_the_ranks(document: Document) -> None:
    pairs = {(link.src_rank, link.dst_rank): link.size_bytes for link in document.communication.links}

    assert pairs == {(0, 1): 2_000_000, (1, 0): 2_000_000}


def test_the_memory_peak_and_its_curve(document: Document) -> None:
    peaks = [(peak.rank, peak.component, peak.peak_allocated_bytes) for peak in document.memory.peaks]

    assert peaks == [(0, "PTA", 5 << 28), (1, "PTA", 5 << 28)]
    assert max(size or 0 for size in document.memory.curves[0].allocated_bytes) == 5 << 28


def test_health_knows_how_many_ranks_are_missing(document: Document) -> None:
    ranks = document.health.ranks

    assert ranks is not None
    assert (ranks.present, ranks.expected, ranks.expected_is_exact) == (2, 8, False)


def test_a_threshold_is_on_the_total() -> None:
    chosen = assemble(two_ranks(), ENGLISH, Selection(op_time_threshold_ns=10))

    assert [row.op_type for row in chosen.operators.kernels] == ["A"]
    assert chosen.operators.kernel_time_ns == 24


def test_top_k_cuts_rankings_and_keeps_their_count() -> None:
    chosen = assemble(two_ranks(), ENGLISH, Selection(top_k=1))

    assert (len(chosen.operators.kernels), chosen.operators.kernel_type_count) == (1, 2)


def test_a_step_that_launched_nothing_stands_for_no_other() -> None:
    db = timeline(
        """
        r0 step |1122222222|
        r0 s1   |..AAAA....|
        """
    )

    (step,) = assemble(DrawnRun(db), ENGLISH).breakdown.ranks

    assert (step.step, step.window_ns, step.compute_ns) == (2, 8, 4)


def test_what_was_not_collected_is_absent_and_says_why() -> None:
    run = nothing()
    why = {"state": "not_requested", "reason": "profile_memory was off", "turn_on": "profile_memory=True"}
    insert(run.db, "coverage", rank=0, table_name="memory_event", **why)

    document = assemble(run, ENGLISH)

    assert document.breakdown.ranks == []
    assert (document.memory.collected, document.memory.state) == (False, "not_requested")
    assert document.memory.turn_on == "profile_memory=True"


def test_findings_stand_beside_what_was_not_found(document: Document) -> None:
    section = document.findings

    assert (section.collected, section.state) == (True, "collected")
    seen = {finding.rule for finding in section.rows} | {held.rule for held in section.suppressed}
    assert seen | {one.rule for one in section.lacking} | set(section.quiet) == set(rules.CODES)


def test_the_advisor_is_not_asked_where_nobody_wants_it() -> None:
    section = assemble(two_ranks(), ENGLISH, Selection(advice=False)).findings

    assert (section.collected, section.state, section.rows) == (False, "not_requested", [])


@pytest.mark.parametrize("make", [two_ranks, nothing])
def test_every_document_fits_the_schema_and_survives_the_way_through_json(make: object) -> None:
    document = drawn_document() if make is two_ranks else assemble(nothing(), ENGLISH)

    jsonschema.validate(json.loads(json_text(document)), analyze_schema())
    jsonschema.validate(json.loads(json_text(doctor_document(document))), doctor_schema())
    told = msgspec.structs.replace(document, timeline=None)  # a page can show it, a list of slices helps nobody
    assert msgspec.json.decode(json_text(document), type=Document) == told


def test_an_absent_section_has_its_state_and_nothing_else() -> None:
    document = json.loads(json_text(assemble(nothing(), ENGLISH)))

    assert document["communication"]["collected"] is False
    assert set(document["communication"]) <= {"collected", "state", "reason", "turn_on"}


def test_the_published_pages_are_those_of_the_code() -> None:
    for name, text in pages().items():
        assert (REFERENCE / name).read_text(encoding="utf-8") == text, (
            "write them again: python -m ascend_sn.cli.reference docs/reference"
        )


def test_the_verdict_is_in_the_language_of_the_reader() -> None:
    chinese = drawn_document("zh")

    assert chinese.language == "zh"
    assert chinese.verdict[0].message_id == drawn_document("en").verdict[0].message_id
    assert "计算" in chinese.verdict[0].text


def test_a_run_of_a_thousand_ranks_stays_small() -> None:
    db = timeline("r0 step |11112222|\nr0 s1 |AAA.AAA.|")
    db.execute("delete from profile")
    for table in ("step", "kernel"):
        columns = ", ".join(name for name in db.table(table).columns if name not in ("profile_id", "rank"))
        db.execute(
            f"insert into {table} by name "
            f"select i as profile_id, i as rank, {columns} from {table}, range(1, 1000) t(i)"
        )
    for rank in range(1000):
        add_rank(db, rank)

    document = assemble(DrawnRun(db), ENGLISH)

    assert len(document.breakdown.ranks) == 1000
    assert len(document.steps.rows) == 1000
    assert document.steps.step_count == 2000
    assert document.steps.job_step_count == 2


@pytest.mark.parametrize(
    ("rank_1", "count"),
    [("11112222", 2), ("33334444", 4), ("........", 2)],
    ids=["the same steps", "other steps", "no step"],
)
def test_a_step_that_several_ranks_took_is_one_step_of_the_job(rank_1: str, count: int) -> None:
    db = timeline(f"""
        r0 step |11112222|
        r1 step |{rank_1}|
        r0 s1   |AAA.AAA.|
        r1 s1   |AAA.AAA.|
    """)

    document = assemble(DrawnRun(db), ENGLISH)

    assert document.steps.job_step_count == count
    assert f"{count} steps" in subject_text(document, ENGLISH)


def test_doctor_lists_what_lowers_the_score_with_its_share() -> None:
    # Four kernels, of which B starts 1 ns before its launch.
    db = timeline("r0 s1 |A.B.C.D.|")
    for number, (kernel, at) in enumerate(zip("ABCD", (0, 3, 4, 6), strict=True)):
        insert(db, "host_call", host_call_id=number, thread="h", level="acl", name="launch", ts_ns=at, dur_ns=1)
        db.execute("update kernel set host_call_id = ? where name = ?", [number, kernel])
    target = io.StringIO()

    write_health(assemble(DrawnRun(db), Language.load("en")), Language.load("en"), target)

    said = target.getvalue()
    assert "score 75 %" in said
    assert "1 kernel starts before its launch, of 4 that were looked at on all ranks (25 %)" in said
