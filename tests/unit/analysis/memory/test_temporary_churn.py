from __future__ import annotations

from typing import Any

from ascend_sn.analysis.memory.temporary_churn import temporary_churn
from tests.unit.analysis.traces import Row, results


def event(ts_ns: int, kind: str, address: str, name: str = "tmp", size_bytes: int = 8, **more: Any) -> Row:
    block = {"address": address, "operator_name": name, "size_bytes": size_bytes}
    return ("memory_event", {"ts_ns": ts_ns, "kind": kind, **block, **more})


def test_a_hundred_blocks_freed_at_once_are_a_hundred_temporaries() -> None:
    rows = [event(2 * at, "alloc", "x") for at in range(100)] + [event(2 * at + 1, "free", "x") for at in range(100)]

    (row,) = results(temporary_churn, rows)

    assert (row["operator_name"], row["allocation_count"], row["churn_count"]) == ("tmp", 100, 100)
    assert (row["churn_bytes"], row["churn_ratio"], row["mean_life_ns"]) == (800, 1.0, 1)


def test_one_other_allocation_may_come_between_and_two_may_not() -> None:
    one = [event(0, "alloc", "a"), event(1, "alloc", "b", "keep"), event(2, "free", "a")]
    two = [
        event(0, "alloc", "a"),
        event(1, "alloc", "b", "keep"),
        event(2, "alloc", "c", "keep"),
        event(3, "free", "a"),
    ]

    assert [row["operator_name"] for row in results(temporary_churn, one)] == ["tmp"]
    assert results(temporary_churn, two) == []


def test_allocations_of_another_device_do_not_come_between() -> None:
    rows = [event(0, "alloc", "a", device="0")] + [event(at, "alloc", str(at), "keep", device="1") for at in (1, 2, 3)]

    (row,) = results(temporary_churn, [*rows, event(4, "free", "a", device="0")])

    assert row["churn_count"] == 1


def test_a_block_that_stays_is_not_temporary() -> None:
    assert results(temporary_churn, [event(0, "alloc", "a")]) == []
