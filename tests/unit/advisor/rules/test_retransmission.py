"""R-COMM-6: a transfer of seconds."""

from __future__ import annotations

import pytest

from tests.unit.advisor.advised import advised, found
from tests.unit.advisor.rules.calls import job

S = 1_000_000_000


@pytest.mark.parametrize(("transit_ns", "is_found"), [(4 * S - 1, False), (4 * S, True), (5 * S, True)])
def test_a_transfer_of_four_seconds_is_a_risk(transit_ns: int, is_found: bool) -> None:
    finding = found(job([{"transit_ns": transit_ns}], step_ns=20 * S, steps=1), "R-COMM-6")

    assert (finding is not None) == is_found
    if finding is not None:
        assert (finding.severity, finding.gain) == ("critical", None)
        assert finding.evidence[0].start_ns == 10 * S


def test_waiting_is_no_transfer() -> None:
    db = job([{"transit_ns": S, "wait_ns": 8 * S}], step_ns=20 * S, steps=1)

    assert advised(db, "R-COMM-6").quiet == ("R-COMM-6",)
