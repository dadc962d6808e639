"""R-COMM-3: gradients in float32 whose transit nothing hides."""

from __future__ import annotations

import pytest

from tests.unit.advisor.advised import advised, found
from tests.unit.advisor.rules.calls import MIB, MS, job


def test_half_the_bytes_take_half_the_time() -> None:
    finding = found(job([{"size_bytes": MIB, "transit_ns": 20 * MS, "dtype": "float32"}]), "R-COMM-3")

    assert finding is not None
    assert finding.message.params["float32_ratio"] == 1
    assert finding.gain is not None
    assert finding.gain.change == "W5"
    assert finding.gain.high_ns >= 10 * MS
    # Expected: encoding and decoding 1 MiB at 200 GB/s takes 10.5 us.
    assert finding.gain.expected_ns == pytest.approx(10 * MS - 2 * MIB / 200, abs=2)


@pytest.mark.parametrize(("transit_ms", "quiet"), [(14, True), (15, False), (16, False)])
def test_from_the_threshold_on(transit_ms: int, quiet: bool) -> None:
    db = job([{"transit_ns": transit_ms * MS, "dtype": "FP32"}])

    assert advised(db, "R-COMM-3").quiet == (("R-COMM-3",) if quiet else ())


@pytest.mark.parametrize("call", [{"dtype": "bfloat16"}, {"dtype": "float32", "op": "alltoall"}, {"dtype": None}])
def test_other_communication_is_left_alone(call: dict[str, str | None]) -> None:
    assert advised(job([{"transit_ns": 30 * MS, **call}]), "R-COMM-3").quiet == ("R-COMM-3",)
