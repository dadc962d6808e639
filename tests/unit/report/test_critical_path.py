"""The critical path in every view: HT1, whose answers were counted by hand."""

from __future__ import annotations

import io
import json

import jsonschema
import pytest
from msgspec.structs import replace

from ascend_sn.report.assemble.run import assemble
from ascend_sn.report.documents.as_json import analyze_schema, json_text
from ascend_sn.report.documents.critical_path import PathClass
from ascend_sn.report.documents.run import Document
from ascend_sn.report.documents.views import View, selection_of, view_of
from ascend_sn.report.html.run import html_text
from ascend_sn.report.markdown.run import markdown_text
from ascend_sn.report.tables.flat import flat_tables
from ascend_sn.report.tables.path import path_lines
from ascend_sn.report.terminal.run import write_screen
from ascend_sn.report.words.language import CODES, Code, Language
from tests.unit.replay.drawings import hand_trace
from tests.unit.report.drawn import DrawnRun, add_rank, nothing

ENGLISH = Language.load("en")
HEADINGS = {"en": "Critical path", "zh": "关键路径"}


def drawn(code: Code = "en") -> Document:
    db = hand_trace()
    db.execute("delete from profile")
    add_rank(db, 0)
    return assemble(DrawnRun(db), Language.load(code))


@pytest.fixture(scope="module")
def document() -> Document:
    return drawn()


def test_classes_slices_and_slack_are_in_the_document(document: Document) -> None:
    path = document.critical_path

    assert path is not None
    assert (path.scope, path.ranks, path.step_ns, path.identity_error_ratio) == ("step", [0], 100, 0.0)
    assert [(row.time_class, row.dur_ns) for row in path.classes] == [
        ("compute", 40),
        ("data_loading", 30),
        ("communication", 25),
        ("launch", 5),
    ]
    assert [row.name for row in path.slices] == ["data", "launch", "A", "B", "C", "R", "D"]
    assert path.slice_count == 7
    slack = {row.name: (row.on_path_ns, row.slack_ns) for row in path.operators}
    assert slack["launch"] == (2, 0)


def test_the_json_keeps_its_schema(document: Document) -> None:
    written = json.loads(json_text(document))

    jsonschema.validate(written, analyze_schema())
    assert sum(row["dur_ns"] for row in written["critical_path"]["classes"]) == 100


@pytest.mark.parametrize("code", CODES)
def test_the_screen_says_what_holds_the_step(code: Code) -> None:
    language = Language.load(code)
    stream = io.StringIO()

    write_screen(drawn(code), language, stream, View(), width=100)

    (line,) = [line for line in stream.getvalue().splitlines() if line.startswith(HEADINGS[code])]
    assert f"{language.text('path.compute')} 40 ns (40 %)" in line
    assert "data 30 ns, R 25 ns, A 20 ns" in stream.getvalue()


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("write", [html_text, markdown_text])
def test_pages_have_both_tables(code: Code, write: type) -> None:
    language = Language.load(code)

    text = write(drawn(code), language, View())

    assert HEADINGS[code] in text
    assert language.text("critical_path.operators") in text
    assert language.text("path.data_loading") in text


def test_spreadsheets_have_its_tables(document: Document) -> None:
    tables = {table.name: table for table in flat_tables(document, View())}

    assert tables["critical_path"].columns == ("time_class", "dur_ns", "share_ratio")
    assert tables["critical_path"].rows[0] == ("compute", 40, 0.4)
    assert {"critical_slices", "operator_slack"} <= set(tables)


def test_a_switch_for_another_section_leaves_it_out() -> None:
    view = view_of(memory=True, communication=False, fusion=False, top_k=None)
    document = assemble(DrawnRun(hand_trace()), ENGLISH, selection_of(view=view))

    assert document.critical_path is None
    assert HEADINGS["en"] not in markdown_text(document, ENGLISH, view)


def test_the_plain_screen_asks_for_it() -> None:
    assert "critical_path" in selection_of(view=View(), screen_only=True).details


def test_without_anything_to_replay_it_is_absent_and_says_why() -> None:
    path = assemble(nothing(), ENGLISH).critical_path

    assert path is not None
    assert (path.collected, path.state, path.classes) == (False, "empty", [])
    assert path.reason


def test_the_step_of_the_path_is_named_where_the_breakdown_shows_another_one(document: Document) -> None:
    path = document.critical_path
    assert path is not None

    same, other = path_lines(path, ENGLISH, [100]), path_lines(path, ENGLISH, [90])

    assert [line for line in other if line not in same] == [
        "Of the median step without the warm-up (100 ns); that of the breakdown is the median of all steps."
    ]


def test_a_skew_of_ranks_below_zero_is_said_so_that_the_parts_add_up(document: Document) -> None:
    path = document.critical_path
    assert path is not None
    skewed = [
        PathClass(time_class="compute", dur_ns=110, share_ratio=1.1),
        PathClass(time_class="rank_skew", dur_ns=-10, share_ratio=-0.1),
    ]

    said = path_lines(replace(path, classes=skewed), ENGLISH, [100])[0]

    assert said == f"{ENGLISH.text('path.compute')} 110 ns (110 %), {ENGLISH.text('path.rank_skew')} -10 ns (-10 %)"
