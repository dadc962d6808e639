"""One screen: 80 columns, plain where nobody sees colours, honest about what is absent."""

from __future__ import annotations

import io

import msgspec
import pytest

from ascend_sn.report.assemble.run import assemble
from ascend_sn.report.documents.run import Document
from ascend_sn.report.documents.views import View, telling_ranks, view_of
from ascend_sn.report.terminal.run import write_screen
from ascend_sn.report.terminal.wrapping import cell_width
from ascend_sn.report.words.language import CODES, Code, Language
from tests.timeline import insert, timeline
from tests.unit.report.drawn import DrawnRun, add_rank, drawn_document, nothing, two_ranks

ENGLISH = Language.load("en")


def screen(document: Document, language: Language = ENGLISH, view: View | None = None, width: int = 80) -> str:
    stream = io.StringIO()
    write_screen(document, language, stream, view or View(), width=width)
    return stream.getvalue()


@pytest.fixture(scope="module")
def document() -> Document:
    return drawn_document()


@pytest.mark.parametrize("code", CODES)
def test_it_fits_one_screen_of_80_columns(code: str) -> None:
    chosen: Code = "zh" if code == "zh" else "en"

    lines = screen(drawn_document(chosen), Language.load(chosen)).splitlines()

    assert len(lines) <= 56
    assert max(cell_width(line) for line in lines) <= 80


def test_without_a_terminal_there_are_no_colours_and_no_trailing_blanks(document: Document) -> None:
    text = screen(document)

    assert "\x1b" not in text
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


def test_health_comes_first_then_the_verdict_then_the_breakdown(document: Document) -> None:
    text = screen(document)

    places = [
        text.index(word) for word in ("Data health", "Verdict", "Step breakdown", "Kernels", "Communication", "Memory")
    ]

    assert places == sorted(places)


def test_the_parts_of_a_step_are_told_with_their_shares(document: Document) -> None:
    (line,) = [line for line in screen(document).splitlines() if line.startswith("  rank 0  10 ns")]

    assert " ".join(line.split()) == "rank 0 10 ns 5 ns 50 % 3 ns 30 % 0 ns 0 % 2 ns 20 %"


def test_a_bar_shows_the_parts_in_proportion(document: Document) -> None:
    bars = [line for line in screen(document).splitlines() if "\u2588" in line and "compute" not in line]

    drawn = [bars[0].count(sign) / (80 - 2 - len("rank 0  ")) for sign in "\u2588\u2593\u2592\u2591"]

    assert drawn == pytest.approx([0.5, 0.3, 0.0, 0.2], abs=0.01)


def test_names_from_the_trace_cannot_reach_the_terminal_as_commands() -> None:
    db = timeline("r0 s1 |AAAA|")
    db.execute("delete from profile")
    add_rank(db, 0, device_name="\x1b]0;owned\x07", source="a\x1b[2J")
    db.execute("update kernel set op_type = chr(27) || '[31mred'")
    insert(db, "damage", rank=0, file="x\x1b[1m", kind="odd\x07", severity="damage", count=1, example="\x9b31m")

    text = screen(assemble(DrawnRun(db), ENGLISH))

    assert not any(letter in text for letter in "\x1b\x07\x9b")
    assert "\\x1b[31mred" in text


def test_what_was_not_collected_is_never_shown_as_nothing() -> None:
    text = screen(assemble(nothing(), ENGLISH))

    assert "0 B" not in text
    assert "0 %" not in text
    assert "nothing was recorded" in text


def test_memory_that_was_asked_for_and_did_not_come_is_told_so() -> None:
    run = nothing()
    for table in ("memory_event", "memory_sample"):
        insert(run.db, "coverage", rank=0, table_name=table, state="missing", turn_on="profile_memory=True",
               reason="requested, but nothing was recorded (looked in memory_record.csv)")  # fmt: skip
    view = view_of(memory=True, communication=False, fusion=False, top_k=None)

    text = " ".join(screen(assemble(run, ENGLISH), view=view).split())

    assert "requested, but no data was recorded (looked in memory_record.csv) (turn on: profile_memory=True)" in text
    assert "Step breakdown" not in text


def test_what_can_be_turned_on_is_told_by_option() -> None:
    run = nothing()
    for column in ("input_shapes", "input_dtypes"):
        insert(run.db, "coverage", rank=0, table_name="operator", column_name=column, state="not_requested",
               reason="record_shapes was off", turn_on="record_shapes=True")  # fmt: skip

    text = screen(assemble(run, ENGLISH))

    assert "operator.input_dtypes, operator.input_shapes (turn on: record_shapes=True)" in " ".join(text.split())


def test_damage_of_one_kind_is_one_line_however_many_files_have_it() -> None:
    run = two_ranks()
    for rank in (0, 1):
        insert(run.db, "damage", profile_id=rank, rank=rank, file=f"rank{rank}.json", kind="truncated", place="byte 9",
               severity="damage", count=1, example="the file ends early; 98 events were read")  # fmt: skip

    text = " ".join(screen(assemble(run, ENGLISH)).split())

    assert "2 damaged things" in text
    assert "rank0.json (byte 9): ends early: 98 events were read (2); and 1 more file" in text


def test_the_communication_view_shows_shares_and_pairs(document: Document) -> None:
    view = view_of(memory=False, communication=True, fusion=False, top_k=None)

    text = screen(document, view=view)

    assert "Share of wall time" in text
    assert "0 > 1" in text
    assert "Memory peak" not in text


def test_a_total_that_its_parts_do_not_make_up_says_what_is_left(document: Document) -> None:
    total = document.communication.total
    assert total is not None
    parts = {"transit_ns": 60_000_000, "wait_ns": 30_000_000, "idle_ns": 8_000_000}
    told = msgspec.structs.replace(total, total_ns=100_000_000, **parts, unknown_ns=2_000_000)
    whole = msgspec.structs.replace(told, wait_ns=32_000_000, unknown_ns=0)
    said = [
        screen(
            msgspec.structs.replace(document, communication=msgspec.structs.replace(document.communication, total=one))
        )
        for one in (told, whole)
    ]

    assert "2.00 ms of the total (2.0 %) is in calls whose parts are not known." in said[0]
    assert "whose parts are not known" not in said[1]


def test_where_the_terminal_has_no_unicode_bars_are_plain(document: Document) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", errors="backslashreplace")

    write_screen(document, ENGLISH, stream, View(), width=80)
    stream.flush()

    assert b"#####" in raw.getvalue()
    assert b"\\u2588" not in raw.getvalue()


def test_of_many_ranks_the_telling_ones_are_shown(document: Document) -> None:
    first = document.breakdown.ranks[0]
    steps = [
        msgspec.structs.replace(first, rank=rank, compute_ns=rank, free_ns=100 - rank, window_ns=100)
        for rank in range(20)
    ]

    shown = [step.rank for step in telling_ranks(steps, 5)]

    assert shown == [0, 1, 2, 10, 19]


def test_a_thousand_ranks_still_fit_one_screen(document: Document) -> None:
    first = document.breakdown.ranks[0]
    many = msgspec.structs.replace(
        document,
        breakdown=msgspec.structs.replace(
            document.breakdown, ranks=[msgspec.structs.replace(first, rank=rank) for rank in range(1000)]
        ),
    )

    text = screen(many)

    assert len(text.splitlines()) <= 56
    assert "Of 1000 ranks" in text
