"""R-OP-7: matrix work in float32."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from tests.unit.advisor.advised import advised, found
from tests.unit.advisor.rules.matrix import product, step_of


def mixed(single_ns: int, low_ns: int, other_ns: int = 0) -> DuckDBPyConnection:
    """Products in float32, in bfloat16 and in a type that is neither, of different shapes, one after another."""
    db = step_of(single_ns + low_ns + other_ns)
    at = 0
    for number, (dtype, dur_ns) in enumerate((("FLOAT", single_ns), ("DT_BF16", low_ns), ("INT32", other_ns))):
        if dur_ns:
            side = 256 * (number + 1)
            product(db, number, at, dur_ns, shapes=f"{side},{side};{side},{side}", output=f"{side},{side}", dtype=dtype)
        at += dur_ns
    return db


def test_float32_products_are_found_and_priced() -> None:
    finding = found(mixed(60_000, 4_000), "R-OP-7")

    assert finding is not None
    assert finding.message.params["single_ratio"] == 60 / 64
    assert finding.message.params["time_ns"] == 60_000
    assert finding.gain is not None
    # No pair of equal shapes tells, so float32 x 0.7, 0.5, 0.35.
    assert finding.gain.change == "W12"
    assert (finding.gain.low_ns, finding.gain.expected_ns, finding.gain.high_ns) == (18_000, 30_000, 39_000)
    assert finding.confidence == "low"


def test_a_share_of_float32_at_the_threshold_is_accepted() -> None:
    assert advised(mixed(30_000, 0, 70_000), "R-OP-7").quiet == ("R-OP-7",)
    assert advised(mixed(31_000, 0, 69_000), "R-OP-7").quiet == ()


def test_a_training_in_mixed_precision_is_left_alone() -> None:
    assert advised(mixed(90_000, 10_000), "R-OP-7").quiet == ("R-OP-7",)
    assert advised(mixed(91_000, 9_000), "R-OP-7").quiet == ()


def test_wanted_float32_can_be_said() -> None:
    db = mixed(60_000, 4_000)

    assert advised(db, "R-OP-7", thresholds=["R-OP-7.single_above_ratio=1"]).quiet == ("R-OP-7",)
