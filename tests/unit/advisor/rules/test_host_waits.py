"""R-HOST-2: a host that stops for the device in every step."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from tests.timeline import insert, timeline
from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.replay.drawings import launch


def stepped(kernels: str, calls: str, *, host: str = "", steps: str = "") -> DuckDBPyConnection:
    """A step; in `calls` a capital launches the kernel of that name and `s` synchronises."""
    db = timeline(f"r0 step |{steps or '1' * len(kernels)}|\nr0 s1 |{kernels}|\nr0 host |{host}|")
    launch(db, calls)
    return db


def test_a_wait_that_lets_the_device_run_dry_is_priced() -> None:
    # The host waits for A until 10, then works 4 before it launches B. Without the wait B follows A at once.
    db = stepped("..AAAAAAAA....BBBBBB", "AAsssssssss.BB......", host="ffffffffffffff......")

    finding = found(db, "R-HOST-2")

    assert finding is not None
    assert (finding.message.params["wait_count"], finding.message.params["waited_ns"]) == (1, 9)
    assert finding.gain is not None
    assert (finding.gain.change, finding.severity) == ("W11", "critical")
    assert finding.gain.expected_ns > 0
    assert finding.at_stake_ns == 6  # the device is free for 6 of the 20, whatever the host waits


def test_the_line_of_the_users_program_is_named() -> None:
    db = stepped("..AAAAAAAA....BBBBBB", "AAsssssssss.BB......", host="ffffffffffffff......")
    insert(db, "stack", stack_id=1, frames="/x/site-packages/torch/_tensor.py(9): item\ntrain.py(7): step")
    db.execute("update operator set stack_id = 1")

    finding = found(db, "R-HOST-2")

    assert finding is not None
    assert finding.message.params["place"] == "train.py(7): step"
    assert finding.location.site == "train.py(7): step"


def test_a_wait_of_some_steps_only_is_logging() -> None:
    kernels, calls = "..AAAAAA....BBBB....", "AAsssssssBBB........"

    assert advised(stepped(kernels, calls, steps="1" * 10 + "2" * 10), "R-HOST-2").quiet == ("R-HOST-2",)
    assert advised(stepped(kernels, calls), "R-HOST-2").quiet == ()


def test_waits_count_from_the_threshold_on() -> None:
    # 2 of 20: 10 %.
    db = stepped("AAAAAAAAAA....BBBBBB", "A.......ss..B.......", host="f" * 20)

    assert advised(db, "R-HOST-2", thresholds=["R-HOST-2.waited_from_ratio=0.10"]).quiet == ()
    assert advised(db, "R-HOST-2", thresholds=["R-HOST-2.waited_from_ratio=0.11"]).quiet == ("R-HOST-2",)


def test_a_wait_that_costs_nothing_is_held_back() -> None:
    # The device never runs dry.
    db = stepped("AAAAAAAAAABBBBBBBBBB", "AB......ssssssssssss", host="f" * 20)

    assert suppressed(db, "R-HOST-2") == ["suppressed.no-gain"]


def small(operator: str) -> DuckDBPyConnection:
    """Kernels of 1 ns, each launched, waited for within an operator, and followed by the next launch."""
    db = stepped("..R...D...R...D...R.", "RRssDDssRRssDDssRRss", host="..ff..ff..ff..ff..ff")
    db.execute("update operator set name = ?", [operator])
    return db


def test_small_operators_separated_by_waits_are_named_so() -> None:
    finding = found(small("aten::item"), "R-HOST-2")

    assert finding is not None
    assert finding.title.message_id == "rule.r-host-2.title-small"
    assert finding.message.params["small_ratio"] == 1
    assert finding.message.params["wait_count"] == 5


def test_blocking_launches_are_told_instead_of_their_waits() -> None:
    finding = found(small("aten::relu"), "R-HOST-2")
    at = found(small("aten::relu"), "R-HOST-2", thresholds=["R-HOST-2.blocking_launches_above_ratio=1"])

    assert finding is not None
    assert finding.title.message_id == "rule.r-host-2.title-blocking"
    assert (finding.message.params["share_ratio"], finding.effort) == (1, "config")
    assert at is not None
    assert at.title.message_id == "rule.r-host-2.title-small"


def test_a_configuration_without_blocking_launches_is_believed() -> None:
    db = small("aten::relu")
    db.execute("""update profile set config = '{"environment": {"ASCEND_LAUNCH_BLOCKING": ""}}'""")

    finding = found(db, "R-HOST-2")

    assert finding is not None
    assert finding.title.message_id == "rule.r-host-2.title-small"


def test_without_marked_steps_only_repeated_waits_inside_an_operator_count() -> None:
    outside = stepped("..AAAAAAAA....BBBBBB", "AAsssssssss.BB......")
    inside = stepped("..AAAAAAAA....BBBBBB", "AAssssssss..BBs.....", host="ffffffffffffffff....")
    for db in (outside, inside):
        db.execute("delete from step")
        db.execute("update kernel set step_id = null")

    assert advised(outside, "R-HOST-2").quiet == ("R-HOST-2",)
    assert advised(inside, "R-HOST-2").quiet == ()
