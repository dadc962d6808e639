"""R-COMM-7: messages that are no multiple of 512 bytes."""

from __future__ import annotations

import pytest

from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.advisor.rules.calls import MIB, MS, job

ALIGNED = {"size_bytes": MIB, "transit_ns": 10 * MS}


def test_slower_than_aligned_ones_of_a_like_size() -> None:
    finding = found(job([ALIGNED, {"size_bytes": MIB + 8, "transit_ns": 20 * MS}]), "R-COMM-7")

    assert finding is not None
    assert finding.gain is not None
    # Half the bandwidth: the unaligned call would take 10 of its 20 ms.
    assert finding.gain.expected_ns == pytest.approx(10 * MS, rel=1e-4)


@pytest.mark.parametrize(("transit_ms", "is_found"), [(10.0, False), (11.0, False), (11.2, True)])
def test_a_tenth_less_bandwidth_is_still_alike(transit_ms: float, is_found: bool) -> None:
    db = job([ALIGNED, {"size_bytes": MIB + 1, "transit_ns": round(transit_ms * MS)}])

    assert (advised(db, "R-COMM-7").quiet == ()) == is_found


def test_a_hundredth_of_the_step_counts() -> None:
    above = job([{"size_bytes": 2000, "transit_ns": MS}])
    below = job([{"size_bytes": 2000, "transit_ns": MS - 100}])

    assert suppressed(above, "R-COMM-7") == ["suppressed.no-aligned-call"]
    assert advised(below, "R-COMM-7").quiet == ("R-COMM-7",)


def test_aligned_calls_of_another_size_are_no_peers() -> None:
    db = job([ALIGNED, {"size_bytes": 4 * MIB + 8, "transit_ns": 80 * MS // 4}])

    assert suppressed(db, "R-COMM-7") == ["suppressed.no-aligned-call"]
