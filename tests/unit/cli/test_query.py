"""`ascend-sn query`: formats, files, refusals, and the examples of the page."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import duckdb
import pytest

from tests.unit.cli.conftest import run

Capture = pytest.CaptureFixture[str]

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "how-to" / "query.md").read_text("utf-8"), re.DOTALL)


def test_a_table_on_the_screen(capsys: Capture, recording: Path) -> None:
    code, out, err = run(capsys, "query", recording, "select i, 'x' || i as text from range(12) t(i)", "--limit", 10)

    lines = [line.rstrip() for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert lines[0] == "i  text"
    assert lines[10] == "9  x9"
    assert lines[11] == "10 of 12 rows; --limit shows more, --format csv all."


def test_rows_wider_than_the_screen_are_written_below_each_other(
    capsys: Capture, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    columns = ", ".join(f"{number}00000000 as figure_{number}" for number in range(1, 10))
    code, out, _ = run(capsys, "query", recording, f"select {columns} from step", "--limit", "1")

    assert code == 0
    assert out.splitlines() == [
        "row 1",
        *(f"  figure_{number}  {number}00000000" for number in range(1, 10)),
        "1 of 2 rows; --limit shows more, --format csv all.",
    ]


def test_csv_runs_no_formula(capsys: Capture, recording: Path) -> None:
    sql = "select * from (values ('=1+1', -1), ('@x', 2), ('a,b', null)) t(name, number)"
    code, out, _ = run(capsys, "query", recording, sql, "--format", "csv")

    assert code == 0
    assert list(csv.reader(io.StringIO(out))) == [["name", "number"], ["'=1+1", "-1"], ["'@x", "2"], ["a,b", ""]]


def test_json_is_a_list_of_rows(capsys: Capture, recording: Path) -> None:
    sql = """select 9007199254740993 as big, 'nan'::double as none, [1, null] as list, null as "null", 1 as a, 2 as a"""
    code, out, _ = run(capsys, "query", "--input", recording, sql, "--format", "json")

    expected = [{"big": 9007199254740993, "none": None, "list": [1, None], "null": None, "a": 1, "a_6": 2}]
    assert code == 0
    assert json.loads(out) == expected


def test_escapes_of_a_terminal_are_shown_not_sent(capsys: Capture, recording: Path) -> None:
    _, out, _ = run(capsys, "query", recording, "select chr(27) || '[2J' as name")

    assert "\x1b" not in out
    assert r"\x1b[2J" in out


@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet", ".txt"])
def test_the_suffix_names_the_format(capsys: Capture, recording: Path, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"answer{suffix}"
    code, out, _ = run(capsys, "query", recording, "select 7 as seven", "--output", target)

    assert (code, out) == (0, "")
    if suffix == ".parquet":
        assert duckdb.connect().execute(f"select seven from read_parquet('{target}')").fetchall() == [(7,)]
    elif suffix == ".json":
        assert json.loads(target.read_text()) == [{"seven": 7}]
    else:
        assert target.read_text().split() == ["seven", "7"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([target.name, "recording"])


def test_an_existing_file_is_left_alone(capsys: Capture, recording: Path, tmp_path: Path) -> None:
    target = tmp_path / "mine.csv"
    target.write_text("mine")
    code, _, err = run(capsys, "query", recording, "select 1", "--output", target)

    assert code == 2
    assert "exists" in err
    assert target.read_text() == "mine"


def test_a_failing_query_leaves_no_file(capsys: Capture, recording: Path, tmp_path: Path) -> None:
    code, _, err = run(capsys, "query", recording, "select error('late') from range(3)", "--output", tmp_path / "a.csv")

    assert code == 2
    assert err.count("\n") == 1
    assert "late" in err
    assert [path.name for path in tmp_path.iterdir()] == ["recording"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no input"),
        (["{run}", "select", "1"], "put the query in quotes"),
        (["{run}", "select 1", "--format", "parquet"], "needs --output"),
        (["{run}", "select 1", "--output", "{run}/../a.xyz"], "names no known format"),
        (["{run}", "select 1", "--output", "{run}/nowhere/a.csv"], "there is no folder"),
        (["{run}", ""], "the query is empty"),
        (["--schema", "kernl"], "unknown table 'kernl'; did you mean 'kernel'?"),
        (["{run}", "drop table step"], "exactly one SELECT"),
        (["{run}", "from read_csv('/etc/passwd')"], "only its tables"),
    ],
)
def test_what_cannot_be_done_is_one_line(capsys: Capture, recording: Path, words: list[str], said: str) -> None:
    code, out, err = run(capsys, "query", *(word.format(run=recording) for word in words))

    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_query_on_standard_input(capsys: Capture, recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("select count(*) as steps\nfrom step"))
    code, out, _ = run(capsys, "query", recording)

    assert code == 0
    assert out.split() == ["steps", "2"]


def test_a_terminal_asks_for_one_after_the_other(
    capsys: Capture, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = iter([".schema metric", "select count(*) as steps", "from step;", "selec 1;", "select 5 as five;", ".quit"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _prompt: next(typed))
    code, out, err = run(capsys, "query", recording)

    assert code == 0
    assert out.splitlines()[1].startswith("metric: ")
    assert re.findall(r"^ *(steps|five|\d+) *$", out, re.MULTILINE) == ["steps", "2", "five", "5"]
    assert "selec" in err


def test_the_schema_of_a_table(capsys: Capture) -> None:
    code, out, _ = run(capsys, "query", "--schema", "step", "--format", "json")

    (table,) = json.loads(out)
    assert code == 0
    assert table["table"] == "step"
    assert table["columns"][:2] == [
        {"name": "profile_id", "type": "integer", "doc": "The captured process; dense in the run."},
        {"name": "rank", "type": "integer", "doc": "Position in the job; null when it is not known."},
    ]


@pytest.mark.parametrize("sql", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_examples_of_the_page_run(capsys: Capture, recording: Path, sql: str) -> None:
    code, out, err = run(capsys, "query", recording, sql, "--format", "json")

    assert (code, err) == (0, "")
    assert isinstance(json.loads(out), list)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 8


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("select chr(55296) from range(3)", 2),
        ("select error('no') from range(3)", 2),
        ("from test_all_types()", 2),  # with a struct of nothing
        ("select interval '-1 month'", 3),
    ],
)
def test_what_cannot_be_written_as_parquet_is_one_line(
    capsys: Capture, recording: Path, tmp_path: Path, sql: str, code: int
) -> None:
    told, _, err = run(capsys, "query", recording, sql, "--output", tmp_path / "a.parquet")

    assert (told, err.count("\n")) == (code, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["recording"]
