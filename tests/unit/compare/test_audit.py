"""Predicted against real."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ascend_sn.compare.audit import Audit, audit
from ascend_sn.compare.comparison import compared
from ascend_sn.errors import UnknownNameError
from ascend_sn.model.predictions import PREDICTIONS_VERSION, Prediction, Predictions
from ascend_sn.store.calibration import CALIBRATION_VERSION, Outcome, log_outcomes, logged_outcomes
from tests.unit.compare.made import run_of, work


def prediction(rule: str, low: int, expected: int, high: int, **more: Any) -> Prediction:
    given = {"id": f"{rule}-1", "confidence": "high", "method": "replay", "change": "W1", "base_ns": 100, **more}
    return Prediction(rule=rule, low_ns=low, expected_ns=expected, high_ns=high, **given)


PREDICTED = Predictions(
    version=PREDICTIONS_VERSION,
    tool_version="0",
    made_ns=7,
    input="base",
    job="",
    rows=(
        prediction("R-COMM-1", 1, 5, 9),
        prediction("R-OP-1", 4, 10, 12, order=2, after_ns=70),
        prediction("R-DATA-1", 15, 20, 25, order=1, after_ns=80),
    ),
)


def held(candidate_ns: int, *applied: str) -> Audit:
    base, candidate = ([run_of([length] * 8, work("A", 8, 40))] for length in (100, candidate_ns))
    found = audit(PREDICTED, compared(base, candidate), applied)
    assert found is not None
    return found


def test_the_plan_comes_first_and_nothing_is_judged_unless_named() -> None:
    found = held(78)

    assert [row.rule for row in found.rows] == ["R-DATA-1", "R-OP-1", "R-COMM-1"]
    assert found.real_ns == 22
    assert {row.verdict for row in found.rows} == {None}


@pytest.mark.parametrize(
    ("candidate_ns", "verdict", "error"), [(90, "below", -10), (78, "within", 2), (60, "above", 20)]
)
def test_a_named_change_is_held_against_its_prediction(candidate_ns: int, verdict: str, error: int) -> None:
    row = held(candidate_ns, "r-data-1").rows[0]

    assert (row.is_applied, row.verdict, row.error_ns) == (True, verdict, error)


def test_several_changes_are_held_together_as_planned() -> None:
    found = held(71, "R-DATA-1", "R-OP-1")

    assert (found.together_ns, found.real_step_ns) == (70, 71)
    assert {row.verdict for row in found.rows} == {None}


def test_changes_that_were_not_planned_together_have_no_joint_prediction() -> None:
    assert held(71, "R-COMM-1", "R-OP-1").together_ns is None


def test_a_change_without_prediction_is_a_usage_error() -> None:
    with pytest.raises(UnknownNameError, match="R-DATA-1"):
        held(71, "R-MEM-1")


def test_the_log_keeps_what_came_and_skips_cut_lines(tmp_path: Path) -> None:
    outcome = Outcome(
        version=CALIBRATION_VERSION, logged_ns=1, rule="R-OP-1", change="W7", confidence="high", low_ns=1,
        expected_ns=2, high_ns=3, real_ns=2, base_ns=10, baseline="a", candidate="b",
    )  # fmt: skip

    log = log_outcomes([outcome], cache_dir=tmp_path)
    assert log is not None
    log_outcomes([outcome], cache_dir=tmp_path)
    log.write_bytes(log.read_bytes() + b'{"version": 1, "ru')

    assert logged_outcomes(cache_dir=tmp_path) == [outcome, outcome]


def test_a_log_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "predictions").write_text("in the way")

    assert log_outcomes([], cache_dir=tmp_path) is None
    assert logged_outcomes(cache_dir=tmp_path) == []
