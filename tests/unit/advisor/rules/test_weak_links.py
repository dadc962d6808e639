"""R-COMM-2: links that carry much less than they could."""

from __future__ import annotations

from math import sqrt

import pytest
from duckdb import DuckDBPyConnection

from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.advisor.rules.calls import MIB, MS, add_links, job

PAIRS = [(src, dst) for src in range(4) for dst in range(4) if src != dst]


def linked(speed: float, *, sizes: tuple[int, ...] = (100,), device: str = "Ascend910B2") -> DuckDBPyConnection:
    """All-reduces of some MiB, each 20 ms of transit; HCCS of the chip carries 28 GB/s."""
    db = job([{"size_bytes": size * MIB, "transit_ns": 20 * MS} for size in sizes], device=device)
    add_links(db, dict.fromkeys(PAIRS, speed))
    return db


def test_links_below_the_threshold_are_found_and_priced() -> None:
    finding = found(linked(7.0), "R-COMM-2")

    # 7 of 28 GB/s: 25 %. At 80 % of the links the 20 ms take 20 x 0.25 / 0.8 = 6.25 ms.
    assert finding is not None
    assert finding.message.params["bandwidth_ratio"] == pytest.approx(0.25)
    assert finding.gain is not None
    assert finding.gain.expected_ns == 13_750_000
    # At 60 % 8.33 ms, at 100 % 5 ms. Both bounds hold the 3 % by which two runs of one program differ, and for a step
    # that is shorter than the 100 ms more of its length: 3 % of the root of both lengths.
    longest, shortest = 80 + 20 * 0.25 / 0.6, 85
    assert finding.gain.low_ns == pytest.approx((100 - longest - 0.03 * sqrt(100 * longest)) * MS, abs=2)
    assert finding.gain.high_ns == pytest.approx((100 - shortest + 0.03 * sqrt(100 * shortest)) * MS, abs=2)


@pytest.mark.parametrize(("speed", "is_found"), [(6.9, True), (7.0, False), (7.1, False)])
def test_the_threshold_itself_is_enough(speed: float, is_found: bool) -> None:
    finding = found(linked(speed), "R-COMM-2", thresholds=["R-COMM-2.bandwidth_below_ratio=0.25"])

    assert (finding is not None) == is_found


def test_a_chip_that_is_not_known_is_not_judged() -> None:
    (lacking,) = advised(linked(7.0, device="Something else"), "R-COMM-2").not_collected

    assert "table of chips" in lacking.reason


def test_small_messages_are_not_the_links_fault() -> None:
    db = job([{"size_bytes": size, "transit_ns": 5 * MS + size} for size in (1_000, 4_000, 16_000)])
    add_links(db, dict.fromkeys(PAIRS, 7.0))

    assert suppressed(db, "R-COMM-2") == ["suppressed.small-messages"]
