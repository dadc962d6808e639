"""R-MEM-1: the memory of the device is almost full."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from ascend_sn.model.trace_schema import CAPACITY_METRIC
from tests.timeline import insert, timeline
from tests.unit.advisor.advised import advised, found, suppressed

GIB = 1 << 30


def training(
    peak_gib: float, *, reserved_gib: float | None = None, capacity_gib: float | None = 100
) -> DuckDBPyConnection:
    """A step of 20 whose forward pass, 8 long, adds activations of half the peak, gone when the backward pass ends."""
    db = timeline("r0 step |11111111111111111111|\nr0 s1 |FFFFFFFFBBBBBBBBBBBB|",
                  launched_by={"F": "forward", "B": "backward"})  # fmt: skip
    ((forward,),) = db.sql("select operator_id from operator where phase = 'forward'").fetchall()
    half, whole = round(peak_gib / 2 * GIB), round(peak_gib * GIB)
    reserved = whole if reserved_gib is None else round(reserved_gib * GIB)
    for ts, kind, size, level, operator in ((0, "alloc", half, half, None), (6, "alloc", whole - half, whole, forward),
                                            (18, "free", whole - half, half, None)):  # fmt: skip
        insert(db, "memory_event", rank=0, ts_ns=ts, kind=kind, size_bytes=size, address="a" if ts == 0 else "b",
               device="NPU:0", operator_id=operator, allocated_bytes=level, reserved_bytes=reserved)  # fmt: skip
    if capacity_gib is not None:
        insert(db, "metric", rank=0, name=CAPACITY_METRIC, ts_ns=0, value=capacity_gib * GIB)
    return db


def test_from_ninety_percent_on_it_is_near_and_from_ninety_five_full() -> None:
    near, full = found(training(90), "R-MEM-1"), found(training(95), "R-MEM-1")

    assert near is not None
    assert full is not None
    assert (near.grade, near.severity) == ("near", "warning")
    assert (full.grade, full.severity) == ("full", "critical")
    assert advised(training(89.9), "R-MEM-1").quiet == ("R-MEM-1",)
    assert found(training(94.9), "R-MEM-1", thresholds=["R-MEM-1.full_from_ratio=0.94"]).grade == "full"  # type: ignore[union-attr]


def test_recomputing_is_offered_with_what_it_frees_and_costs() -> None:
    # Activations are half of 90 GiB; the forward pass again costs 8 of 20.
    finding = found(training(90), "R-MEM-1")

    assert finding is not None
    assert finding.advice.params["freed_bytes"] == 45 * GIB
    assert finding.gain is not None
    assert (finding.gain.expected_ns, finding.gain.method) == (-8, "direct")


def test_modules_are_named_where_they_were_recorded() -> None:
    db = training(90)
    db.execute("update operator set module = 'model.layer1' where phase = 'forward'")

    finding = found(db, "R-MEM-1")

    assert finding is not None
    assert finding.advice.message_id == "rule.r-mem-1.advice-modules"
    assert finding.location.names == ("model.layer1",)
    assert finding.gain is not None
    assert (finding.gain.change, finding.gain.expected_ns) == ("W13", -8)


def test_a_large_pool_is_no_shortage() -> None:
    assert suppressed(training(79.9, reserved_gib=95), "R-MEM-1") == ["suppressed.only-reserved"]
    assert found(training(80, reserved_gib=95), "R-MEM-1") is not None


def test_a_failed_request_is_critical_without_any_capacity() -> None:
    db = training(10, capacity_gib=None)
    insert(db, "memory_event", rank=0, ts_ns=7, kind="oom", size_bytes=3 * GIB, device="NPU:0")

    finding = found(db, "R-MEM-1")

    assert finding is not None
    assert (finding.severity, finding.title.message_id) == ("critical", "rule.r-mem-1.title-oom")
    assert (finding.message.params["oom_count"], finding.message.params["failed_bytes"]) == (1, 3 * GIB)


def test_without_a_capacity_nothing_is_said_unless_the_user_gives_it() -> None:
    db = training(90, capacity_gib=None)

    assert advised(db, "R-MEM-1").quiet == ("R-MEM-1",)
    assert found(db, "R-MEM-1", thresholds=[f"R-MEM-1.capacity_bytes={100 * GIB}"]) is not None


def test_memory_of_the_host_is_not_the_devices() -> None:
    db = training(90)
    db.execute("update memory_event set device = 'cpu'")

    assert advised(db, "R-MEM-1").quiet == ("R-MEM-1",)


def test_without_memory_it_cannot_look() -> None:
    (lacking,) = advised(timeline("r0 step |1111|\nr0 s1 |AA..|"), "R-MEM-1").not_collected

    assert lacking.what == "memory_peak"
