"""`ascend-sn history` and `ascend-sn gate --history` on small recordings."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from ascend_sn.report.documents.comparison_schema import gate_schema
from ascend_sn.report.documents.history_schema import history_schema, trend_schema
from ascend_sn.report.terminal.wrapping import cell_width
from tests.unit.cli.conftest import run
from tests.unit.compare.recorded import recorded, steady

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs of the same program, `slow` and `slow2` whose product takes a half longer, and the `same` again."""
    folder = tmp_path_factory.mktemp("runs")
    for number in range(6):
        recorded(folder / f"base{number}", steady(1000 + 4 * number, seed=number))
    recorded(folder / "slow", steady(1500, seed=8))
    recorded(folder / "slow2", steady(1510, seed=10))
    recorded(folder / "same", steady(1003, seed=9))
    return folder


@pytest.fixture
def history(capsys: Capture, runs: Path, tmp_path: Path) -> Path:
    """A history of the six."""
    place = tmp_path / "perf.db"
    run(capsys, "history", "record", *(runs / f"base{at}" for at in range(6)), "--history", place, "--series", "m")
    return place


def test_what_was_recorded_is_listed_and_shown(capsys: Capture, runs: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("GITHUB_SHA", "0123456789abcdef")
    monkeypatch.setenv("GITHUB_REF_NAME", "main")
    words = ("--history", tmp_path / "perf.db")

    code, out, err = run(capsys, "history", "record", runs / "base0", *words, "--note", "first", "--pin")
    _, listed, _ = run(capsys, "history", "list", *words)
    _, shown, _ = run(capsys, "history", "show", "1", *words)
    _, again, said = run(capsys, "history", "record", runs / "base0", *words)

    assert (code, err) == (0, "")
    assert listed == out
    assert "#1" in out
    assert "0123456789ab " in out
    assert "1.32 ms" in out
    assert "pinned" in out
    assert "first" in out
    assert "NVIDIA A100 x 1" in shown
    assert "0123456789abcdef" in shown
    assert "in the history already" in said
    assert again.count("#1") == 1


def test_the_json_keeps_to_its_schema(capsys: Capture, history: Path) -> None:
    _, listed, _ = run(capsys, "history", "list", "--history", history, "--format", "json", "--newest", "2")
    _, trend, _ = run(capsys, "history", "trend", "--history", history, "--series", "m", "--format", "json")

    jsonschema.validate(json.loads(listed), history_schema())
    jsonschema.validate(json.loads(trend), trend_schema())
    assert [one["id"] for one in json.loads(listed)["runs"]] == [5, 6]
    (step,) = (one for one in json.loads(trend)["metrics"] if one["metric"] == "step_time")
    assert [point["run"] for point in step["points"]] == [1, 2, 3, 4, 5, 6]


def test_pinning_and_pruning(capsys: Capture, history: Path) -> None:
    words = ("--history", history)
    run(capsys, "history", "pin", "#1", "2", *words)
    run(capsys, "history", "unpin", "2", *words)

    code, out, _ = run(capsys, "history", "prune", "--keep", "2", *words)
    _, kept, _ = run(capsys, "history", "list", *words, "--format", "json")

    assert (code, out) == (0, "3 runs removed.\n")
    assert [one["id"] for one in json.loads(kept)["runs"]] == [1, 5, 6]


def test_the_gate_judges_runs_by_where_the_next_of_the_history_would_lie(
    capsys: Capture, runs: Path, history: Path
) -> None:
    words = ("--history", history, "--series", "m")

    passed, fine, _ = run(capsys, "gate", runs / "same", *words)
    suspect, alone, _ = run(capsys, "gate", runs / "slow", *words)
    failed, bad, _ = run(capsys, "gate", runs / "slow", runs / "slow2", *words)

    said = " ".join(bad.split())
    assert (passed, suspect, failed) == (0, 0, 1)
    assert "Gate passed." in fine
    assert "may have slowed so few runs" in " ".join(alone.split())
    assert "1 more run of the candidate would settle it." in " ".join(alone.split())
    assert "sgemm adds" in said
    assert "restoring it would recover" in said
    assert "from 6 runs" in said
    assert "3 more runs of the candidate would settle it." in said
    assert "Baseline: the 6 newest runs (#1, #2, #3" in said


def test_what_is_judged_is_recorded_with_the_verdict_and_what_failed_is_no_baseline(
    capsys: Capture, runs: Path, history: Path
) -> None:
    words = ("--history", history, "--series", "m", "--record")

    alone, _, _ = run(capsys, "gate", runs / "slow", *words)
    _, suspected, _ = run(capsys, "history", "list", "--history", history, "--format", "json")
    code, _, err = run(capsys, "gate", runs / "slow", runs / "slow2", *words)
    passed, out, _ = run(capsys, "gate", runs / "same", *words, "--format", "json")
    _, listed, _ = run(capsys, "history", "list", "--history", history, "--format", "json")

    document = json.loads(out)
    jsonschema.validate(document, gate_schema())
    assert (alone, code, passed) == (0, 1, 0)
    assert "recorded in" in err
    assert [one["id"] for one in document["history"]["runs"]] == [1, 2, 3, 4, 5, 6]
    assert json.loads(suspected)["runs"][-1]["verdict"] == "possible"
    assert [(one["id"], one["verdict"]) for one in json.loads(listed)["runs"][-3:]] == [
        (7, "failed"),
        (8, "failed"),
        (9, "passed"),
    ]


def test_what_is_possibly_worse_is_no_baseline(capsys: Capture, runs: Path, history: Path) -> None:
    words = ("--history", history, "--series", "m")
    run(capsys, "gate", runs / "slow", *words, "--record")

    _, out, _ = run(capsys, "gate", runs / "slow2", *words, "--format", "json")

    assert [one["id"] for one in json.loads(out)["history"]["runs"]] == [1, 2, 3, 4, 5, 6]


def test_the_first_run_of_a_pipeline_begins_the_history(capsys: Capture, runs: Path, tmp_path: Path) -> None:
    words = ("--history", tmp_path / "new.db")

    without, _, err = run(capsys, "gate", runs / "same", *words)
    code, out, _ = run(capsys, "gate", runs / "base0", *words, "--record")
    second, _, _ = run(capsys, "gate", runs / "same", *words, "--record")

    assert (without, len(err.splitlines())) == (3, 1)
    assert (code, second) == (0, 0)
    assert "begins with this run" in out


def test_the_settings_file_names_the_history(capsys: Capture, runs: Path, history: Path) -> None:
    Path("ascend-sn.toml").write_text(f'[history]\nurl = "{history}"\nseries = "m"\n')

    code, out, _ = run(capsys, "gate", runs / "slow", runs / "slow2")
    null, said, _ = run(capsys, "gate", "--null")

    assert (code, null) == (1, 0)
    assert "Baseline: the 6 newest runs" in " ".join(out.split())
    assert "of 200 splits fail" in " ".join(said.split())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_of_the_trend_is_whole_and_fetches_nothing(
    capsys: Capture, runs: Path, history: Path, tmp_path: Path, language: str
) -> None:
    page = tmp_path / "trend.html"
    run(capsys, "history", "record", runs / "slow", "--history", history, "--series", "<b>&m")
    words = ("history", "trend", "--history", history, "--output", page, "--lang", language)

    for series in ("m", "<b>&m"):
        code, out, err = run(capsys, *words, "--series", series)
        text = page.read_text(encoding="utf-8")

        assert (code, out) == (0, "")
        assert str(page) in err
        assert "<script" not in text
        assert "<b>&m" not in text
        figure = text[text.index("<figure") : text.index("</figure>") + len("</figure>")]
        ElementTree.fromstring(figure.replace('class="full"', 'title="x"', 1))
        assert text.count("<circle") == (3 if series != "m" else 6 * text.count("<figure"))


def test_no_line_is_wider_than_the_terminal_needs_it(capsys: Capture, history: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    _, out, _ = run(capsys, "history", "trend", "--history", history, "--series", "m")

    assert [line for line in out.splitlines() if cell_width(line) > 100] == []


@pytest.mark.parametrize(
    "words",
    [
        ("history",),
        ("history", "forget"),
        ("history", "record"),
        ("history", "show"),
        ("history", "show", "one"),
        ("history", "pin", "0"),
        ("history", "prune"),
        ("history", "list", "3"),
        ("history", "list", "--output", "x.html"),
        ("history", "trend", "--output", "x.pdf"),
        ("history", "trend", "--metric", "step-tim"),
        ("gate", "x", "--baseline", "y", "--history", "z.db"),
        ("gate", "x", "--history", "mysql://h/d"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(capsys: Capture, words: tuple[str, ...]) -> None:
    code, out, err = run(capsys, *words)

    assert (code, out) == (2, "")
    assert "Traceback" not in err


@pytest.mark.parametrize("words", [("list",), ("show", "1"), ("pin", "1"), ("trend",), ("prune", "--keep", "1")])
def test_a_history_that_is_not_there_is_one_line(capsys: Capture, tmp_path: Path, words: tuple[str, ...]) -> None:
    place = tmp_path / "none.db"

    code, out, err = run(capsys, "history", *words, "--history", place)

    assert (code, out, len(err.splitlines())) == (3, "", 1)
    assert not place.exists()


def test_a_run_without_steps_is_not_recorded(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    code, _, err = run(capsys, "history", "record", tmp_path / "empty", "--history", tmp_path / "h.db")

    assert (code, len(err.splitlines())) == (3, 1)
    assert not (tmp_path / "h.db").exists()


def test_only_what_needs_the_database_or_the_services_loads_them() -> None:
    program = (
        "import sys, ascend_sn.cli.gate, ascend_sn.cli.compare, ascend_sn.cli.history, ascend_sn.compare.gate, "
        "ascend_sn.compare.settings, ascend_sn.report.documents.comparison, ascend_sn.report.terminal.comparison; "
        "print([name for name in ('sqlalchemy', 'psycopg', 'apprise') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_what_others_wrote_into_the_database_is_harmless(capsys: Capture, history: Path, tmp_path: Path) -> None:
    page = tmp_path / "trend.html"
    bad = "\x1b[31m<script>alert(1)</script>"
    with sqlite3.connect(history) as raw:
        raw.execute("update ascend_sn_run set name = ?, revision = ?, note = ?, setup = ?", (bad,) * 4)
        raw.execute("update ascend_sn_value set metric = ? where metric = 'utilisation'", (bad,))
    raw.close()
    words = ("--history", history, "--series", "m")

    told = [
        run(capsys, "history", *action, *words)
        for action in (("list",), ("show", "1"), ("trend",), ("trend", "--output", page))
    ]

    assert [code for code, _, _ in told] == [0, 0, 0, 0]
    assert "\x1b" not in "".join(out + err for _, out, err in told)
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "\x1b" not in text


def test_a_verdict_that_is_none_is_named_in_one_harmless_line(capsys: Capture, history: Path) -> None:
    with sqlite3.connect(history) as raw:
        raw.execute("update ascend_sn_run set verdict = ?", ("\x1b[31m<script>",))
    raw.close()

    code, out, err = run(capsys, "history", "list", "--history", history, "--series", "m")

    assert (code, out, len(err.splitlines())) == (3, "", 1)
    assert "is damaged" in err
    assert "\x1b" not in err


def test_a_run_that_cannot_be_judged_is_not_recorded_and_that_is_said(
    capsys: Capture, history: Path, tmp_path: Path
) -> None:
    other = recorded(tmp_path / "other", steady(1000))
    trace = other / "trace.json"
    trace.write_text(trace.read_text().replace("NVIDIA A100", "NVIDIA H100"))

    code, _, err = run(capsys, "gate", other, "--history", history, "--series", "m", "--record")
    _, listed, _ = run(capsys, "history", "list", "--history", history)

    assert code == 3
    assert f"not recorded in {history}: " in err
    assert "--series NAME" in err
    assert ("#6" in listed, "#7" in listed) == (True, False)
