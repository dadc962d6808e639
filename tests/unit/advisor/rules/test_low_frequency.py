"""R-FREQ-1: cores below their rated frequency."""

from __future__ import annotations

import pytest
from duckdb import DuckDBPyConnection

from tests.timeline import insert
from tests.unit.advisor.advised import advised, found
from tests.unit.advisor.rules.matrix import product, step_of


def sampled(low_ns: int, mhz: float = 900.0, *, device_name: str = "Ascend910B3") -> DuckDBPyConnection:
    """A device that computes for 1000 ns, the last ones of them at another frequency than the rated 1800 MHz."""
    db = step_of(1_000)
    db.execute("update profile set device_name = ?", [device_name])
    product(db, 0, 0, 1_000)
    for ts, value in ((0, 1800.0), (1_000 - low_ns, mhz)):
        insert(db, "counter", rank=0, name="AI Core Freq", unit="MHz", ts_ns=ts, value=value)
    return db


def test_low_frequency_is_found_and_compute_priced_at_the_rated_one() -> None:
    # Half of the time at half of the frequency: 1350 MHz on average.
    finding = found(sampled(500), "R-FREQ-1")

    assert finding is not None
    params = finding.message.params
    assert (params["mean_mhz"], params["rated_mhz"], params["low_ratio"]) == (1350, 1800, 0.5)
    assert params["rated"].message_id == "rated.chip"
    assert finding.gain is not None
    assert (finding.gain.low_ns, finding.gain.expected_ns) == (125, 250)


def test_at_five_percent_nothing_is_said() -> None:
    assert advised(sampled(50), "R-FREQ-1").quiet == ("R-FREQ-1",)
    assert advised(sampled(51), "R-FREQ-1").quiet == ()


def test_a_chip_that_is_not_in_the_table_is_held_against_its_best_sample() -> None:
    finding = found(sampled(500, device_name="something"), "R-FREQ-1")

    assert finding is not None
    assert finding.message.params["rated"].message_id == "rated.highest-sample"
    assert finding.confidence == "low"


def test_without_samples_the_rule_cannot_look() -> None:
    db = step_of(1_000)
    product(db, 0, 0, 1_000)

    (lacking,) = advised(db, "R-FREQ-1").not_collected

    assert lacking.what == "frequency"


@pytest.mark.parametrize("mhz", [1770.0, 1800.0])
def test_rounding_is_no_low_frequency(mhz: float) -> None:
    assert advised(sampled(500, mhz), "R-FREQ-1").quiet == ("R-FREQ-1",)
