"""R-MEM-3 and R-MEM-5: a pool in pieces, and a loop that asks the driver for memory."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from tests.timeline import empty_tables, insert, together
from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.report.drawn import add_rank

MIB = 1 << 20
MS = 1_000_000
STEP = 100 * MS


def training(
    allocator_ns: int, *, name: str = "aclrtMalloc", allocated_mib: int = 3000, reserved_mib: int = 4000, every: int = 1
) -> DuckDBPyConnection:
    """Six steps: the host calls the allocator, then launches; the device computes from there to the end of the step."""
    db = empty_tables()
    add_rank(db, 0)
    with together(db):
        for step in range(6):
            begin, call_ns = step * STEP, allocator_ns if step % every == 0 else 0
            insert(db, "step", rank=0, step_id=step, step=step, ts_ns=begin, dur_ns=STEP, origin="mark")
            if call_ns:
                insert(
                    db,
                    "host_call",
                    rank=0,
                    host_call_id=3 * step,
                    thread="main",
                    level="acl",
                    name=name,
                    ts_ns=begin,
                    dur_ns=call_ns,
                )
            insert(db, "host_call", rank=0, host_call_id=3 * step + 1, thread="main", level="node", name="launch",
                   ts_ns=begin + call_ns, dur_ns=1000)  # fmt: skip
            insert(
                db,
                "host_call",
                rank=0,
                host_call_id=3 * step + 2,
                thread="main",
                level="acl",
                name="aclrtSynchronizeDevice",
                ts_ns=begin + call_ns + 1000,
                dur_ns=STEP - call_ns - 1000,
            )
            insert(db, "kernel", rank=0, kernel_id=step, device_id=0, stream="1", name="MatMul", kind="compute",
                   ts_ns=begin + call_ns + 1000, dur_ns=STEP - call_ns - 1000, step_id=step,
                   host_call_id=3 * step + 1)  # fmt: skip
            insert(db, "memory_sample", rank=0, ts_ns=begin, component="PTA", allocated_bytes=allocated_mib * MIB,
                   reserved_bytes=reserved_mib * MIB)  # fmt: skip
    return db


def test_ten_ms_in_the_allocator_are_found_and_priced() -> None:
    finding = found(training(10 * MS), "R-MEM-5")

    assert finding is not None
    assert (finding.message.params["allocator_ns"], finding.message.params["calls_count"]) == (10 * MS, 1)
    assert finding.gain is not None
    assert finding.gain.expected_ns == 10 * MS
    assert 0 < finding.gain.low_ns <= 5 * MS  # half of the calls stay, and runs differ
    assert advised(training(10 * MS - 1), "R-MEM-5").quiet == ("R-MEM-5",)


def test_emptying_the_cache_in_the_loop_is_named_however_short() -> None:
    finding = found(training(MS, name="torch_npu::empty_cache"), "R-MEM-5")

    assert finding is not None
    assert finding.advice.message_id == "rule.r-mem-5.advice-empty"


def test_emptying_the_cache_now_and_then_is_allowed() -> None:
    assert found(training(MS, name="empty_cache", every=2), "R-MEM-5") is not None
    assert advised(training(MS, name="empty_cache", every=3), "R-MEM-5").quiet == ("R-MEM-5",)


def test_a_pool_in_pieces_that_still_asks_the_driver_is_found() -> None:
    # 1000 of 4000 MiB reserved and unused: a quarter.
    finding = found(training(2 * MS), "R-MEM-3")

    assert finding is not None
    assert finding.message.params["unused_bytes"] == 1000 * MIB
    assert finding.gain is not None
    assert finding.gain.expected_ns == 2 * MS


def test_a_fifth_of_the_pool_is_the_threshold() -> None:
    assert found(training(2 * MS, allocated_mib=3200), "R-MEM-3") is not None
    assert advised(training(2 * MS, allocated_mib=3201), "R-MEM-3").quiet == ("R-MEM-3",)


def test_a_pool_that_leaves_the_driver_alone_costs_nothing() -> None:
    assert advised(training(0), "R-MEM-3").quiet == ("R-MEM-3",)


def test_little_unused_memory_is_held_back() -> None:
    assert suppressed(training(2 * MS, allocated_mib=1489, reserved_mib=2000), "R-MEM-3") == ["suppressed.unused-small"]
    assert found(training(2 * MS, allocated_mib=1488, reserved_mib=2000), "R-MEM-3") is not None


def test_a_request_that_failed_beside_enough_free_memory_proves_it() -> None:
    # Two segments of 100, half of each taken: 100 are free, and a request for 80 fails.
    db = training(0, allocated_mib=1000, reserved_mib=2000)
    db.execute("delete from memory_sample")
    events = [("segment_alloc", 0, 100), ("segment_alloc", 1000, 100), ("alloc", 0, 50), ("alloc", 1000, 50),
              ("oom", None, 80)]  # fmt: skip
    with together(db):
        for at, (kind, address, size) in enumerate(events):
            insert(
                db,
                "memory_event",
                rank=0,
                ts_ns=at,
                kind=kind,
                size_bytes=size,
                device="NPU:0",
                address=None if address is None else str(address),
                allocated_bytes=100,
                reserved_bytes=200,
            )

    finding = found(db, "R-MEM-3")

    assert finding is not None
    assert finding.message.message_id == "rule.r-mem-3.message-failed"
    assert (finding.message.params["free_bytes"], finding.message.params["largest_free_bytes"]) == (100, 50)


def test_where_collections_alone_were_recorded_it_cannot_look() -> None:
    db = training(0)
    assert advised(db, "R-MEM-5").quiet == ("R-MEM-5",)
    db.execute("update host_call set level = 'gc', name = 'GC'")

    (lacking,) = advised(db, "R-MEM-5").not_collected

    assert lacking.reason == "no runtime calls were recorded"
