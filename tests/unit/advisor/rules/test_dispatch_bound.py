"""R-HOST-5: operators whose host time is large beside their device time."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from tests.timeline import insert, timeline
from tests.unit.advisor.advised import advised, found, suppressed

NEVER_STARVED = "R-HOST-5.starved_above_ratio=1"


def dispatched(host_ns: int, device_ns: int, *, step_ns: int = 100) -> DuckDBPyConnection:
    """A step with one operator that launches one kernel."""
    db = timeline("r0 step |1|")
    db.execute("update step set dur_ns = ?", [step_ns])
    insert(db, "operator", rank=0, operator_id=1, thread="host", name="aten::add", ts_ns=0, dur_ns=host_ns,
           self_ns=host_ns, depth=0, phase="forward")  # fmt: skip
    insert(db, "host_call", rank=0, host_call_id=1, thread="host", level="acl", name="launch", ts_ns=host_ns - 1,
           dur_ns=1)  # fmt: skip
    insert(db, "kernel", rank=0, kernel_id=1, device_id=0, stream="1", name="Add", op_type="Add", kind="compute",
           ts_ns=host_ns, dur_ns=device_ns, step_id=0, operator_id=1, host_call_id=1)  # fmt: skip
    return db


def test_host_time_beyond_half_of_the_device_time_is_found() -> None:
    finding = found(dispatched(31, 60), "R-HOST-5", thresholds=[NEVER_STARVED])

    assert finding is not None
    assert finding.message.params["host_ns"] == 31
    assert finding.message.params["device_ns"] == 60
    assert finding.message.params["names"] == "aten::add"
    assert finding.gain is not None
    assert finding.gain.change == "W8"


def test_at_half_of_the_device_time_nothing_is_said() -> None:
    assert advised(dispatched(30, 60), "R-HOST-5", thresholds=[NEVER_STARVED]).quiet == ("R-HOST-5",)


def test_a_small_share_of_the_step_is_left_alone() -> None:
    # 20 of 200: 10 %; 20 of 201 is less.
    assert advised(dispatched(20, 20, step_ns=200), "R-HOST-5", thresholds=[NEVER_STARVED]).quiet == ()
    assert advised(dispatched(20, 20, step_ns=201), "R-HOST-5", thresholds=[NEVER_STARVED]).quiet == ("R-HOST-5",)


def test_a_starving_device_is_told_by_its_own_rule() -> None:
    assert suppressed(dispatched(40, 20), "R-HOST-5") == ["suppressed.told-by"]


def test_without_links_to_operators_the_rule_cannot_look() -> None:
    db = dispatched(40, 20)
    db.execute("update kernel set operator_id = null")

    (lacking,) = advised(db, "R-HOST-5").not_collected

    assert (lacking.code, lacking.reason) == ("R-HOST-5", "no kernel is linked to its operator")
