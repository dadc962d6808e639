"""R-COMM-4: the fixed cost of many small messages."""

from __future__ import annotations

import pytest

from tests.timeline import insert
from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.advisor.rules.calls import MS, job


def calls(alpha_ns: int, sizes: tuple[int, ...]) -> list[dict[str, int]]:
    """Calls that cost alpha and 1 ns a byte."""
    return [{"size_bytes": size, "transit_ns": alpha_ns + size} for size in sizes]


def test_small_messages_are_found_and_merging_them_saves_their_fixed_cost() -> None:
    # Alpha 4 ms each; 0.1, 0.2 and 0.4 ms of bytes: 12 of 12.7 ms are fixed cost.
    finding = found(job(calls(4 * MS, (100_000, 200_000, 400_000))), "R-COMM-4")

    assert finding is not None
    assert finding.message.params["alpha_ns"] == pytest.approx(4 * MS)
    assert finding.message.params["alpha_ratio"] == pytest.approx(12 / 12.7)
    assert finding.gain is not None
    assert (finding.gain.change, finding.gain.expected_ns) == ("W6", 8 * MS)


@pytest.mark.parametrize(("alpha_ms", "is_found"), [(2, False), (3, False), (4, True)])
def test_half_of_the_transit_is_not_yet_too_much(alpha_ms: int, is_found: bool) -> None:
    # Bytes: 1 + 2 + 6 = 9 ms; alpha of 3 calls: 6, 9 or 12 ms.
    db = job(calls(alpha_ms * MS, (1 * MS, 2 * MS, 6 * MS)))

    assert (advised(db, "R-COMM-4").quiet == ()) == is_found


@pytest.mark.parametrize(("filled_gib", "fits"), [(60, True), (61, False)])
def test_bigger_buckets_must_fit(filled_gib: int, fits: bool) -> None:
    db = job(calls(4 * MS, (100_000, 200_000, 400_000)))
    insert(db, "metric", rank=0, name="memory_capacity_bytes", ts_ns=0, value=float(64 << 30))
    insert(db, "memory_sample", rank=0, ts_ns=5, component="PTA", allocated_bytes=filled_gib << 30,
           reserved_bytes=filled_gib << 30)  # fmt: skip

    assert suppressed(db, "R-COMM-4") == ([] if fits else ["suppressed.buckets-do-not-fit"])


def test_without_a_range_of_sizes_nothing_can_be_told() -> None:
    assert advised(job(calls(4 * MS, (100_000, 100_000))), "R-COMM-4").quiet == ("R-COMM-4",)
