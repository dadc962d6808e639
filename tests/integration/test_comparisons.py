"""Comparisons of what was really recorded: a run against itself, runs of earlier versions, other devices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_sn.cli.main import main
from ascend_sn.store.calibration import logged_outcomes
from tests.shared_data import requires_shared, shared_path

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
OLD = (GOLDEN / "train_trace" / "v1", GOLDEN / "run_folder" / "v1")
FOUND = (
    "data/torch_npu/text/level0",
    "data/torch_npu/text/level1",
    "data/torch_npu/db/level1",
    "data/kineto/cpu_only",
    "data/kineto/amd_trace",
    "cases/dv11_no_step_marks/node-a_41000_20251009081320123_ascend_pt",
    "cases/dv15_slow_rank",
    "cases/dv20_compare_jitter/base",
)


def compared(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, object]]:
    with pytest.raises(SystemExit) as stop:
        main(["compare", *map(str, words), "--format", "json"])
    out = capsys.readouterr().out
    assert isinstance(stop.value.code, int)
    document: dict[str, object] = json.loads(out)
    return stop.value.code, document


@pytest.mark.parametrize("path", OLD, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_runs_of_the_first_version_still_compare(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    code, document = compared(capsys, path, path)

    assert (code, document["verdict"]) == (0, "no change")


@requires_shared
@pytest.mark.parametrize("name", FOUND)
def test_a_run_against_itself_is_no_change(capsys: pytest.CaptureFixture[str], name: str) -> None:
    path = shared_path(name)

    code, document = compared(capsys, path, path)

    difference = document["difference"]
    assert (code, document["verdict"]) == (0, "no change")
    assert isinstance(difference, dict)
    assert {row["delta_ns"] for row in difference["rows"]} <= {0}


@requires_shared
def test_a_gpu_and_an_npu_meet_at_their_operators(capsys: pytest.CaptureFixture[str]) -> None:
    npu, gpu = shared_path("data/torch_npu/text/level0"), shared_path("data/kineto/amd_trace")

    _, document = compared(capsys, npu, gpu)

    difference = document["difference"]
    assert isinstance(difference, dict)
    assert difference["matched_by"] == "operator"
    assert "MatMul" in {row["name"] for row in difference["rows"] if row["state"] == "both"}


@requires_shared
def test_what_the_advisor_predicted_is_held_against_what_came_and_logged(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    slow = shared_path("cases/dv15_slow_rank")
    with pytest.raises(SystemExit):
        main(["analyze", str(slow), "--cache-dir", str(tmp_path)])
    capsys.readouterr()

    _, document = compared(capsys, slow, slow, "--cache-dir", tmp_path, "--applied", "R-IMB-1")

    predictions = document["predictions"]
    assert isinstance(predictions, dict)
    (row,) = (row for row in predictions["rows"] if row["is_applied"])
    # The straggler costs 3 ms of every step of 20 ms; nothing was changed, so nothing came of it.
    assert (row["rule"], row["expected_ns"], predictions["real_ns"]) == ("R-IMB-1", 3_000_000, 0)
    (logged,) = logged_outcomes(cache_dir=tmp_path)
    assert (logged.rule, logged.real_ns) == ("R-IMB-1", 0)
