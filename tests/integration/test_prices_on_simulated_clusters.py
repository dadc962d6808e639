"""Prices of faults of simulated jobs against what the same jobs take without them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.cluster_shape import Shape
from benchmarks.prediction_cluster import Cell, Prediction, predicted

EIGHT = Shape(dp=2, tp=2, pp=2)


@pytest.fixture(scope="module", params=["slow-rank:5:1.1", "late-host:5:200"], ids=str)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Prediction:
    return predicted(Cell(EIGHT, request.param, "R-IMB-1", (5,)), tmp_path_factory.mktemp("job"))


def test_the_price_of_a_slow_rank_is_what_its_removal_gains(found: Prediction) -> None:
    assert found.expected_ns is not None
    assert found.true_ns > 0.04 * found.step_ns
    assert abs(found.expected_ns - found.true_ns) <= 0.1 * found.true_ns


def test_the_bounds_hold_the_truth_and_little_more(found: Prediction) -> None:
    # They allow for the 3 % of a step by which two runs of a program differ.
    assert found.low_ns is not None
    assert found.high_ns is not None
    assert found.low_ns <= found.true_ns <= found.high_ns
    assert found.high_ns - found.low_ns <= 0.08 * found.step_ns


def test_a_slow_rank_comes_first(tmp_path: Path) -> None:
    # Twice as many micro-batches, hidden communication, or no synchronisation are worth less.
    found = predicted(Cell(EIGHT, "slow-rank:5:1.3", "R-IMB-1", (5,)), tmp_path)

    assert found.place == 1
    assert found.greatest_ns == found.expected_ns


def test_the_price_of_slow_links_holds_what_their_repair_gains(tmp_path: Path) -> None:
    # All links of a rank: of its tensor-parallel, data-parallel and pipeline groups.
    found = predicted(Cell(EIGHT, "slow-link:5:4", "R-COMM-5", (5,)), tmp_path)

    assert found.place == 1
    assert found.low_ns is not None
    assert found.high_ns is not None
    assert found.low_ns <= found.true_ns <= found.high_ns
