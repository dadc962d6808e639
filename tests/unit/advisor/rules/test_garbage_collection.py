"""R-HOST-3: collections of garbage that the device waits for."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from tests.timeline import insert, timeline, together
from tests.unit.advisor.advised import advised, found
from tests.unit.replay.drawings import launch

MS = 1_000_000


def collected(calls: str = "A......BBB..........", kernels: str = ".AAAA.....BBBBBBBBBB") -> DuckDBPyConnection:
    """A step of 20 ms; `g` in `calls` is a collection."""
    db = timeline(f"r0 step |{'1' * len(kernels)}|\nr0 s1 |{kernels}|\nr0 host |{'f' * len(kernels)}|")
    launch(db, calls)
    for table in ("step", "kernel", "host_call", "operator"):
        db.execute(f"update {table} set ts_ns = ts_ns * {MS}, dur_ns = dur_ns * {MS}")
    db.execute("update host_call set name = 'gc', level = 'gc' where name = 'g'")
    return db


def test_a_collection_while_the_device_is_free_is_found_and_priced() -> None:
    # Collecting 3..8, device free 5..10.
    finding = found(collected("A..gggggBB.........."), "R-HOST-3")

    assert finding is not None
    params = finding.message.params
    assert (params["collection_count"], params["gc_ns"], params["longest_ns"]) == (1, 5 * MS, 5 * MS)
    assert {one.name: one.value for one in finding.evidence}["device_free_ns"] == 3 * MS
    assert finding.gain is not None
    assert (finding.gain.change, finding.gain.expected_ns > 0) == ("W15", True)


def test_the_loss_counts_from_the_threshold_on() -> None:
    # Device free 5..10, collecting 4..6: 1 ms of it.
    assert advised(collected("A...gg.BBB.........."), "R-HOST-3").quiet == ()
    assert advised(collected("A..gg..BBB.........."), "R-HOST-3").quiet == ("R-HOST-3",)


def test_a_collection_beside_a_busy_device_is_left_alone() -> None:
    assert advised(collected("Agggg...BB.........."), "R-HOST-3").quiet == ("R-HOST-3",)


def silent(gap_ms: int) -> DuckDBPyConnection:
    """A step in which the host does nothing that is recorded for so many milliseconds, and neither does the device."""
    db = timeline("r0 step |1|\nr0 s1 |A|")
    db.execute("delete from kernel")
    length = (gap_ms + 20) * MS
    db.execute("update step set dur_ns = ?", [length])
    with together(db):
        for number, at in enumerate((0, length - 10 * MS)):
            insert(db, "host_call", rank=0, host_call_id=number, thread="host", level="acl", name="launch", ts_ns=at,
                   dur_ns=MS)  # fmt: skip
            insert(db, "kernel", rank=0, kernel_id=number, device_id=0, stream="1", name="A", kind="compute",
                   ts_ns=at + MS, dur_ns=9 * MS, step_id=0, host_call_id=number)  # fmt: skip
    return db


def test_a_long_silence_may_be_a_collection_and_has_no_price() -> None:
    finding = found(silent(300), "R-HOST-3")

    assert finding is not None
    assert finding.title.message_id == "rule.r-host-3.title-likely"
    assert (finding.gain, finding.severity, finding.confidence) == (None, "info", "low")


def test_a_shorter_silence_is_not_guessed_about() -> None:
    assert advised(silent(150), "R-HOST-3").quiet == ("R-HOST-3",)


def test_one_long_silence_in_many_short_steps_is_a_share_of_the_mean_step() -> None:
    # Two steps of 20 ms and one of 320 ms, of which 300 ms pass in silence: mean step 120 ms, of it 100 ms silent.
    db = timeline("r0 step |1|\nr0 s1 |A|")
    for table in ("kernel", "step"):
        db.execute(f"delete from {table}")
    begin = 0
    for number, length in enumerate((20, 320, 20)):
        insert(db, "step", rank=0, step_id=number, step=number, origin="mark", ts_ns=begin, dur_ns=length * MS)
        for place, at in enumerate((begin, begin + (length - 10) * MS)):
            call = 2 * number + place
            insert(db, "host_call", rank=0, host_call_id=call, thread="host", level="acl", name="launch", ts_ns=at,
                   dur_ns=MS)  # fmt: skip
            insert(db, "kernel", rank=0, kernel_id=call, device_id=0, stream="1", name="A", kind="compute",
                   ts_ns=at + MS, dur_ns=9 * MS, step_id=number, host_call_id=call)  # fmt: skip
        begin += length * MS

    finding = found(db, "R-HOST-3")

    assert finding is not None
    params = finding.message.params
    assert (params["gc_ns"], round(float(params["gc_ratio"]), 2)) == (100 * MS, 0.83)
    assert finding.at_stake_ns == 16_666_666  # 5/6 of the median step
