"""`ascend-sn compare` and `ascend-sn gate` on small recordings."""

from __future__ import annotations

import hashlib
import html
import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from ascend_sn.cli import main as cli
from ascend_sn.report.documents.comparison_schema import compare_schema, gate_schema, null_schema
from ascend_sn.report.terminal.wrapping import cell_width
from ascend_sn.store.sealed import read_sealed
from tests.unit.compare.recorded import recorded, steady

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


def run(capsys: Capture, *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        cli.main([str(word) for word in words])
    told = capsys.readouterr()
    assert isinstance(stop.value.code, int)
    return stop.value.code, told.out, told.err


def test_a_regression_exits_with_1_and_names_the_operator(capsys: Capture, runs: Path) -> None:
    code, out, err = run(capsys, "compare", runs / "base", runs / "slow")

    said = " ".join(out.split())
    assert (code, err) == (1, "")
    assert "step time got worse: 1.3" in said
    assert "sgemm adds +497 us per step" in said
    assert "(replayed)" in said


def test_noise_is_no_change(capsys: Capture, runs: Path) -> None:
    code, out, _ = run(capsys, "compare", runs / "base", runs / "same")

    assert code == 0
    assert "no change" in out


def test_the_other_way_round_it_is_an_improvement(capsys: Capture, runs: Path) -> None:
    code, out, _ = run(capsys, "compare", runs / "slow", runs / "base")

    assert code == 0
    assert "improved" in out
    assert "restoring" not in out


@pytest.mark.parametrize("name", ["base", "slow"])
def test_a_run_against_itself_is_no_change(capsys: Capture, runs: Path, name: str) -> None:
    code, out, _ = run(capsys, "compare", runs / name, runs / name, "--limit", "step_time=0.001")

    assert code == 0
    assert "no change" in out
    assert "Nothing differs." in out


def test_the_json_keeps_to_its_schema_and_its_parts_add_up(capsys: Capture, runs: Path) -> None:
    _, out, _ = run(capsys, "compare", runs / "base", runs / "slow", "--format", "json")

    document = json.loads(out)
    jsonschema.validate(document, compare_schema())
    difference = document["difference"]
    assert document["verdict"] == "regression"
    assert sum(row["delta_ns"] for row in difference["rows"]) + difference["others_ns"] == difference["difference_ns"]
    step = next(one for one in document["metrics"] if one["metric"] == "step_time")
    assert difference["difference_ns"] == round(step["candidate"]) - round(step["base"])


def test_fewer_rows_still_add_up(capsys: Capture, runs: Path) -> None:
    _, out, _ = run(capsys, "compare", runs / "base", runs / "slow", "--format", "json", "--top-k", "1")

    difference = json.loads(out)["difference"]
    assert len(difference["rows"]) == 1
    assert difference["rows"][0]["delta_ns"] + difference["others_ns"] == difference["difference_ns"]


def test_a_group_of_runs_is_taken_together(capsys: Capture, runs: Path, tmp_path: Path) -> None:
    sides = {"--baseline": 1000, "--candidate": 1500}
    words = [
        word
        for option, product in sides.items()
        for number in range(5)
        for word in (option, recorded(tmp_path / f"{product}-{number}", steady(product, seed=number)))
    ]

    code, out, _ = run(capsys, "compare", *words, "--format", "json")

    document = json.loads(out)
    (step,) = (one for one in document["metrics"] if one["metric"] == "step_time")
    assert code == 1
    assert (step["method"], step["confidence"], step["base_count"]) == ("runs", "normal", 5)
    assert step["p_value"] == pytest.approx(1 / 252)
    assert {one["name"]: one["is_slower"] for one in document["operators"]}["sgemm"]


def test_a_lost_rank_cannot_be_compared(capsys: Capture, tmp_path: Path) -> None:
    for rank in (0, 1):
        recorded(tmp_path / "base" / f"rank{rank}", steady(1000), rank=rank, size=2)
    recorded(tmp_path / "candidate" / "rank0", steady(1000), rank=0, size=2)

    code, out, err = run(capsys, "compare", tmp_path / "base", tmp_path / "candidate")

    assert (code, err) == (3, "")
    assert "Cannot compare: rank 1 is missing" in " ".join(out.split())


def test_more_ranks_give_speed_up_and_efficiency(capsys: Capture, tmp_path: Path) -> None:
    for size in (1, 2):
        for rank in range(size):
            recorded(tmp_path / str(size) / f"rank{rank}", [1000.0] * 12, rank=rank, size=size)

    code, out, _ = run(capsys, "compare", tmp_path / "1", tmp_path / "2")

    said = " ".join(out.split())
    assert code == 0
    assert "From 1 to 2 ranks" in said
    assert "speed-up 2.00, scaling efficiency 100 %" in said


def test_markdown_goes_where_output_says(capsys: Capture, runs: Path, tmp_path: Path) -> None:
    code, out, err = run(capsys, "compare", runs / "base", runs / "slow", "--output", tmp_path / "diff.md")

    text = (tmp_path / "diff.md").read_text(encoding="utf-8")
    assert (code, out) == (1, "")
    assert str(tmp_path / "diff.md") in err
    assert text.splitlines()[2] == "# Comparison: regression"
    assert "| sgemm" in text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_of_a_comparison_says_the_same_and_fetches_nothing(
    capsys: Capture, runs: Path, tmp_path: Path, language: str
) -> None:
    page, gate_page = tmp_path / "diff.html", tmp_path / "gate.html"
    sides = (runs / "base", runs / "slow")

    code, out, _ = run(capsys, "compare", *sides, "--output", page, "--lang", language)
    gated, _, _ = run(capsys, "gate", sides[1], "--baseline", sides[0], "--output", gate_page, "--lang", language)
    _, as_json, _ = run(capsys, "compare", *sides, "--format", "json", "--lang", language)

    assert (code, out, gated) == (1, "", 1)
    said = [one["text"] for one in json.loads(as_json)["said"]]
    for path in (page, gate_page):
        text = html.unescape(path.read_text(encoding="utf-8"))
        assert [sentence for sentence in said if sentence not in text] == []
        assert "sgemm" in text
        assert "<script" not in text
        assert "http" not in text.replace("http-equiv", "")


def test_names_in_a_page_format_nothing(capsys: Capture, tmp_path: Path) -> None:
    sides = [recorded(tmp_path / f"<b>{name}", steady(length)) for name, length in (("a", 1000), ("b", 1500))]

    run(capsys, "compare", *sides, "--output", tmp_path / "diff.html")

    text = (tmp_path / "diff.html").read_text(encoding="utf-8")
    assert "<b>a" not in text
    assert "&lt;b&gt;a" in text


def test_both_languages_say_it(capsys: Capture, runs: Path) -> None:
    _, out, _ = run(capsys, "compare", runs / "base", runs / "slow", "--lang", "zh")

    assert "退化" in out
    assert "step 时间变差" in "".join(out.split("\n")).replace("               ", "")


def test_long_words_go_onto_a_second_line_and_no_figure_is_cut(
    capsys: Capture, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name, length in (("base", 1000), ("slow", 1500)):
        recorded(tmp_path / name, steady(length, count=2))

    _, out, _ = run(capsys, "compare", tmp_path / "base", tmp_path / "slow")
    table = out.partition("Before and after")[2].partition("Where the step goes")[0]

    assert "possible\n" in table
    assert "\u2026 " not in table.replace(" \u2026 ", " to ")
    assert " %" in table


@pytest.mark.parametrize("columns", [80, 110])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_line_is_wider_than_the_terminal(
    capsys: Capture, runs: Path, monkeypatch: Patch, columns: int, language: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.chdir(runs)

    _, out, _ = run(capsys, "compare", "base", "slow", "--lang", language)

    assert [line for line in out.splitlines() if cell_width(line) > columns] == []
    assert ("by mean" in out or "均值引起" in out) == (columns == 110)


def test_without_two_sides_there_is_nothing_to_compare(capsys: Capture, runs: Path) -> None:
    for words in ([], [runs / "base"], [runs / "base"] * 3, ["--baseline", runs / "base"]):
        assert run(capsys, "compare", *words)[0] == 2


def test_an_unknown_metric_or_a_limit_that_is_none_is_a_usage_error(capsys: Capture, runs: Path) -> None:
    for limit in ("step-tim=5", "step_time", "step_time=-1", "step_time=nan", "step_time=x"):
        assert run(capsys, "compare", runs / "base", runs / "same", "--limit", limit)[0] == 2


def test_confidence_can_be_required(capsys: Capture, runs: Path) -> None:
    assert run(capsys, "compare", runs / "base", runs / "same", "--require-confidence")[0] == 1


def test_nothing_is_written_into_the_inputs(capsys: Capture, runs: Path) -> None:
    before = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in runs.rglob("*") if path.is_file()}

    run(capsys, "gate", runs / "slow", "--baseline", runs / "base")

    assert {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in runs.rglob("*") if path.is_file()} == before


def test_predictions_of_the_baseline_are_held_against_the_candidate(
    capsys: Capture, runs: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    run(capsys, "analyze", runs / "slow", "--cache-dir", cache)

    _, out, _ = run(capsys, "compare", runs / "slow", runs / "base", "--cache-dir", cache)
    code, _, err = run(capsys, "compare", runs / "slow", runs / "base", "--cache-dir", cache, "--applied", "R-NONE-1")

    predicted = (cache / "runs").rglob("predictions-*.json")
    has_predictions = any(json.loads(read_sealed(path))["rows"] for path in predicted)
    assert ("Predicted against real" in out) == has_predictions
    assert code == 2
    assert "R-NONE-1" in err or "nothing was predicted" in err


def test_the_gate_fails_with_the_right_sentence(capsys: Capture, runs: Path) -> None:
    code, out, _ = run(capsys, "gate", runs / "slow", "--baseline", runs / "base")

    said = " ".join(out.split())
    assert code == 1
    assert "Gate failed." in said
    assert "restoring it would recover" in said


def test_the_gate_passes_noise(capsys: Capture, runs: Path) -> None:
    code, out, _ = run(capsys, "gate", runs / "same", "--baseline", runs / "base")

    assert code == 0
    assert "Gate passed." in out


def test_a_limit_of_the_command_line_goes_before_that_of_the_file(capsys: Capture, runs: Path, tmp_path: Path) -> None:
    Path("ascend-sn.toml").write_text("[gate.limits]\nstep_time = 60\n")
    words = ("gate", runs / "slow", "--baseline", runs / "base")

    assert run(capsys, *words)[0] == 0
    assert run(capsys, *words, "--limit", "step_time=20")[0] == 1
    assert run(capsys, *words, "--limit", "step_time=20", "--metric", "utilisation")[0] == 0


@pytest.mark.parametrize(
    "text",
    [
        "[gate.limits]\nstep_tim = 5",
        "[gate]\nstrictly = true",
        "[gate]\nstrict = 1",
        "gate = 3",
        "[gate",
        "[gate]\nmetrics = 1",
    ],
)
def test_a_wrong_file_is_a_usage_error(capsys: Capture, runs: Path, text: str) -> None:
    Path("ascend-sn.toml").write_text(text)

    code, _, err = run(capsys, "gate", runs / "same", "--baseline", runs / "base")

    assert code == 2
    assert len(err.splitlines()) == 1


def test_a_named_metric_that_nobody_recorded_cannot_be_judged(capsys: Capture, runs: Path) -> None:
    code, out, _ = run(capsys, "gate", runs / "same", "--baseline", runs / "base", "--limit", "peak_memory=5")

    assert code == 3
    assert "peak_memory has a limit" in " ".join(out.split())


def test_another_device_cannot_be_judged(capsys: Capture, runs: Path, tmp_path: Path) -> None:
    other = recorded(tmp_path / "other", steady(1000))
    trace = other / "trace.json"
    trace.write_text(trace.read_text().replace("NVIDIA A100", "NVIDIA H100"))

    code, out, _ = run(capsys, "gate", other, "--baseline", runs / "base")
    said = " ".join(out.partition("Verdict")[2].partition("Before and after")[0].split())

    assert code == 3
    assert said == (
        "The gate cannot judge. Cannot compare: the candidate ran on another device, with another number of ranks or "
        "another structure of the job. The device differs: NVIDIA A100 before, NVIDIA H100 now."
    )
    assert run(capsys, "compare", runs / "base", other)[0] == 0


def test_too_few_runs_fail_where_confidence_is_required(capsys: Capture, runs: Path) -> None:
    code, out, _ = run(capsys, "gate", runs / "same", "--baseline", runs / "base", "--require-confidence")

    assert code == 1
    assert "Too few runs" in " ".join(out.split())


def test_junit_counts_what_fails(capsys: Capture, runs: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("gate.xml", "gate.md", "gate.json")]
    words = [word for path in files for word in ("--output", path)]

    code, _, _ = run(capsys, "gate", runs / "slow", "--baseline", runs / "base", *words)
    again, _, _ = run(capsys, "gate", runs / "slow", "--baseline", runs / "base", *words)

    (suite,) = ElementTree.parse(files[0]).getroot()
    failure = suite.find("testcase/failure")
    assert (code, again) == (1, 1)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    assert failure is not None
    assert failure.get("type") == "regression"
    assert files[1].read_text(encoding="utf-8").splitlines()[2] == "# Gate failed."
    document = json.loads(files[2].read_text(encoding="utf-8"))
    jsonschema.validate(document, gate_schema())
    assert document["verdict"] == "failed"


def test_junit_says_that_nothing_could_be_judged(capsys: Capture, runs: Path) -> None:
    code, out, _ = run(
        capsys, "gate", runs / "same", "--baseline", runs / "base", "--limit", "mfu=5", "--format", "junit"
    )

    (suite,) = ElementTree.fromstring(out)
    assert code == 3
    assert suite.get("errors") == "1"
    assert suite.find("testcase/error") is not None


def test_github_shows_an_annotation(capsys: Capture, runs: Path) -> None:
    _, out, _ = run(capsys, "gate", runs / "slow", "--baseline", runs / "base", "--github")

    (line,) = (line for line in out.splitlines() if line.startswith("::"))
    assert line.startswith("::error title=ascend-sn gate%3A Gate failed.::step time got worse")
    assert "%25" in line


def test_gitlab_gets_an_entry_for_what_fails_and_an_empty_list_otherwise(
    capsys: Capture, runs: Path, tmp_path: Path
) -> None:
    report = tmp_path / "gl-code-quality-report.json"
    for name, count in (("same", 0), ("slow", 1), ("same", 0)):
        run(capsys, "gate", runs / name, "--baseline", runs / "base", "--gitlab", report)

        entries = json.loads(report.read_text(encoding="utf-8"))
        assert len(entries) == count
        assert all({"description", "fingerprint", "severity", "location"} <= set(entry) for entry in entries)


def test_the_null_test_counts_false_alarms(capsys: Capture, runs: Path) -> None:
    code, out, _ = run(capsys, "gate", "--baseline", runs / "base", "--null")
    _, as_json, _ = run(capsys, "gate", "--baseline", runs / "base", "--null", "--format", "json")

    document = json.loads(as_json)
    jsonschema.validate(document, null_schema())
    assert code == 0
    assert "step time: 0 of 200 splits fail" in " ".join(out.split())
    assert {one["metric"]: one["method"] for one in document["result"]["metrics"]}["step_time"] == "steps"


def test_a_gate_without_baseline_is_a_usage_error(capsys: Capture, runs: Path) -> None:
    assert run(capsys, "gate", runs / "base")[0] == 2
    assert run(capsys, "gate", "--baseline", runs / "base")[0] == 2


def test_what_cannot_be_read_is_one_line(capsys: Capture, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    code, out, err = run(capsys, "compare", runs / "base", tmp_path / "empty")

    assert (code, out) == (3, "")
    assert len(err.splitlines()) == 1
