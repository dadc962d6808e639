"""R-OP-4: matrix operators that use less than half of the AI Core."""

from __future__ import annotations

import pytest
from duckdb import DuckDBPyConnection

from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.advisor.rules.matrix import measured, product, step_of

SHAPES = "8,64,28,28;64,64,3,3"


def convolution(mac: float, *, path: float = 0.6, dur_ns: int = 400_000, rest_ns: int = 600_000) -> DuckDBPyConnection:
    """A convolution whose matrix unit works for a share of its cycles, and vector work after it, in 1 ms."""
    db = step_of(1_000_000)
    product(db, 1, 0, dur_ns, shapes=SHAPES, output="8,64,28,28", op_type="Conv2D")
    measured(db, 1, {"aic_mac_ratio": mac, "aic_mte2_ratio": path})
    product(db, 2, dur_ns, rest_ns, shapes="1024", output="1024", op_type="Mul")
    return db


def test_a_convolution_at_45_percent_is_found_and_priced() -> None:
    finding = found(convolution(0.45), "R-OP-4")

    assert finding is not None
    params = finding.message.params
    assert (params["op_type"], params["utilisation_ratio"], params["share_ratio"]) == ("Conv2D", 0.45, 0.4)
    assert params["source"].message_id == "utilisation.mac"
    assert finding.gain is not None
    # At 70 % it takes 45 / 70 of its 400 us, at 100 % 45 / 100; nothing better was seen, so perhaps nothing.
    assert finding.gain.change == "W10"
    assert finding.gain.low_ns == 0
    assert finding.gain.expected_ns == pytest.approx(400_000 * (1 - 0.45 / 0.7), abs=1)
    assert finding.gain.high_ns == pytest.approx(400_000 * 0.55, abs=1)


def test_what_the_same_type_reaches_elsewhere_is_certain() -> None:
    db = convolution(0.40)
    db.execute("update kernel set dur_ns = 300000 where kernel_id = 1")
    product(db, 3, 300_000, 100_000, shapes="8,128,28,28;128,128,3,3", output="8,128,28,28", op_type="Conv2D")
    measured(db, 3, {"aic_mac_ratio": 0.60, "aic_mte2_ratio": 0.6})

    finding = found(db, "R-OP-4")

    assert finding is not None
    assert finding.message.params["utilisation_ratio"] == pytest.approx(0.45)
    assert finding.gain is not None
    assert finding.gain.low_ns == pytest.approx(400_000 * (1 - 0.45 / 0.6), abs=2)


def test_half_of_the_core_is_enough() -> None:
    assert advised(convolution(0.5), "R-OP-4").quiet == ("R-OP-4",)


def test_the_share_counts_from_the_threshold_on() -> None:
    assert advised(convolution(0.45, dur_ns=50_000, rest_ns=950_000), "R-OP-4").quiet == ()
    assert advised(convolution(0.45, dur_ns=49_000, rest_ns=951_000), "R-OP-4").quiet == ("R-OP-4",)


def test_without_hardware_ratios_the_roofline_tells_and_says_so() -> None:
    # 2 x 1024^3 operations at 294.9e12 per second are 7.3 us; it takes 20.
    db = step_of(100_000)
    product(db, 1, 0, 20_000)
    product(db, 2, 20_000, 80_000, shapes="1024", output="1024", op_type="Mul")

    finding = found(db, "R-OP-4")

    assert finding is not None
    assert finding.message.params["utilisation_ratio"] == pytest.approx(2 * 1024**3 / 294.9e12 / 20e-6)
    assert finding.message.params["source"].message_id == "utilisation.efficiency"


def test_on_an_unknown_chip_without_ratios_nothing_is_said() -> None:
    db = step_of(100_000)
    db.execute("update profile set device_name = 'something'")
    product(db, 1, 0, 20_000)

    assert advised(db, "R-OP-4").quiet == ("R-OP-4",)


def test_memory_bound_operators_are_not_helped_by_tiling() -> None:
    assert suppressed(convolution(0.2, path=0.97), "R-OP-4") == ["suppressed.memory-bound"]


def test_tiny_operators_want_fusion_or_a_larger_batch() -> None:
    small = convolution(0.1, path=0.2, dur_ns=20_000, rest_ns=100_000)
    larger = convolution(0.1, path=0.2, dur_ns=21_000, rest_ns=100_000)

    assert suppressed(small, "R-OP-4") == ["suppressed.latency-bound"]
    assert "suppressed.latency-bound" not in suppressed(larger, "R-OP-4")


def test_times_that_contradict_the_shapes_say_nothing() -> None:
    # Quicker than the roofline allows, at a low ratio of the unit.
    db = step_of(10_000)
    product(db, 1, 0, 5_000)
    measured(db, 1, {"aic_mac_ratio": 0.3})

    assert suppressed(db, "R-OP-4") == ["suppressed.efficiency-anomaly"]
