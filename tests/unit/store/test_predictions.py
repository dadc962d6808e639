"""Predicted gains are kept with the run, and nowhere in the user's folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_sn.model.predictions import PREDICTIONS_VERSION, Prediction, Predictions
from ascend_sn.report.documents.predictions import predictions_of
from ascend_sn.store import Location
from ascend_sn.store.input import Input
from ascend_sn.store.predictions import keep_predictions, kept_predictions
from tests.unit.report.drawn import drawn_document

ROW = Prediction(
    id="R-COMM-1", rule="R-COMM-1", confidence="low", method="replay", change="W3", low_ns=1, expected_ns=2, high_ns=3,
    base_ns=10, order=1, after_ns=8,
)  # fmt: skip
MADE = Predictions(version=PREDICTIONS_VERSION, tool_version="0", made_ns=5, input="run", job="", rows=(ROW,))


@pytest.mark.parametrize("is_cached", [True, False])
def test_what_was_predicted_comes_back(tmp_path: Path, is_cached: bool) -> None:
    run, cache = tmp_path / "run", tmp_path / "cache"
    run.mkdir()
    location = Location(run, Input.of(run), is_cached=is_cached)

    keep_predictions(location, MADE, cache_dir=cache)

    assert kept_predictions(location, cache_dir=cache) == MADE
    assert bool(list(run.iterdir())) == is_cached  # a run folder of the user's stays as it is


def test_jobs_are_kept_apart(tmp_path: Path) -> None:
    location = Location(tmp_path, Input.of(tmp_path), is_cached=True)

    keep_predictions(location, MADE)

    assert kept_predictions(location, job="other") is None


@pytest.mark.parametrize(
    "text", [b"", b"{}", b'{"version": 99, "tool_version": "9", "made_ns": 1, "input": "", "job": ""}']
)
def test_what_cannot_be_read_is_as_good_as_none(tmp_path: Path, text: bytes) -> None:
    location = Location(tmp_path, Input.of(tmp_path), is_cached=True)
    keep_predictions(location, MADE)
    (kept,) = (tmp_path / "results").iterdir()
    kept.write_bytes(text)

    assert kept_predictions(location) is None


def test_a_cache_that_cannot_be_written_costs_nothing_but_the_record(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("in the way")
    location = Location(tmp_path, Input.of(tmp_path), is_cached=True)

    keep_predictions(location, MADE)

    assert kept_predictions(location) is None


def test_findings_with_a_price_are_predicted() -> None:
    document = drawn_document()

    made = predictions_of(document, 7)

    assert made.made_ns == 7
    assert [row.id for row in made.rows] == [finding.id for finding in document.findings.rows if finding.gain]
