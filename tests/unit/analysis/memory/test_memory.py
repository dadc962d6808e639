"""A20: the peak of every curve, and who held what."""

from __future__ import annotations

from typing import Any

from duckdb import DuckDBPyConnection

from tests.timeline import empty_tables, insert, together
from tests.unit.analysis.rows import profile, results


def events(*placed: tuple[int, str, int], **more: Any) -> DuckDBPyConnection:
    """(moment, operator, bytes): positive ones allocate at a new address, negative ones free the operator's last."""
    db = empty_tables()
    profile(db, 0)
    held: dict[str, list[str]] = {}
    with together(db):
        for number, (moment, operator, size) in enumerate(placed):
            if size > 0:
                held.setdefault(operator, []).append(str(number))
            address = held[operator][-1] if size > 0 else held[operator].pop()
            own = {
                "ts_ns": moment,
                "kind": "alloc" if size > 0 else "free",
                "size_bytes": abs(size),
                "address": address,
            }
            insert(
                db, "memory_event", rank=0, device="npu:0", operator_name=operator if size > 0 else None, **own, **more
            )
    return db


def test_the_peak_of_plus_4_plus_2_minus_4_plus_3_is_6() -> None:
    db = events((10, "a", 4), (20, "b", 2), (30, "a", -4), (40, "c", 3))

    (row,) = results("memory_peak", db)

    assert row == {
        "profile_id": 0,
        "rank": 0,
        "component": "npu:0",
        "peak_allocated_bytes": 6,
        "peak_reserved_bytes": None,
        "peak_active_bytes": None,
        "peak_ts_ns": 20,
        "end_allocated_bytes": 5,
        "source": "events",
    }


def test_retained_peak_and_count_of_each_operator() -> None:
    db = events((10, "a", 4), (20, "b", 2), (30, "a", -4), (40, "c", 3), (50, "a", 1), (60, "b", 5), (70, "b", -5))

    found = {row["operator_name"]: row for row in results("memory_by_operator", db)}

    assert {
        name: (row["retained_bytes"], row["peak_bytes"], row["allocation_count"]) for name, row in found.items()
    } == {
        "a": (1, 4, 2),
        "b": (2, 7, 2),
        "c": (3, 3, 1),
    }
    assert list(found) == ["b", "a", "c"]


def test_an_address_that_is_used_again_belongs_to_its_latest_owner() -> None:
    db = empty_tables()
    profile(db, 0)
    with together(db):
        for moment, kind, operator in ((0, "alloc", "a"), (1, "free", None), (2, "alloc", "b"), (3, "free", None)):
            own = {"ts_ns": moment, "kind": kind, "size_bytes": 8, "address": "0x10", "operator_name": operator}
            insert(db, "memory_event", rank=0, device="npu:0", **own)

    found = [
        (row["operator_name"], row["retained_bytes"], row["peak_bytes"]) for row in results("memory_by_operator", db)
    ]

    assert found == [("a", 0, 8), ("b", 0, 8)]


def test_the_same_address_on_two_devices_is_two_blocks() -> None:
    db = empty_tables()
    profile(db, 0)
    for moment, device, operator in ((0, "npu:0", "a"), (1, "npu:1", "b")):
        own = {"ts_ns": moment, "kind": "alloc", "size_bytes": 8, "address": "0x10", "operator_name": operator}
        insert(db, "memory_event", rank=0, device=device, **own)
    insert(db, "memory_event", rank=0, ts_ns=2, kind="free", size_bytes=8, address="0x10", device="npu:0")

    held = {row["operator_name"]: row["retained_bytes"] for row in results("memory_by_operator", db)}

    assert held == {"a": 0, "b": 8}


def test_beside_an_accelerator_the_memory_of_the_host_is_left_out() -> None:
    db = empty_tables()
    for rank, devices in enumerate((("cuda:0", "cpu"), ("cpu",))):
        profile(db, rank)
        with together(db):
            for number, device in enumerate(devices):
                own = {"ts_ns": number, "kind": "alloc", "size_bytes": 10 + number, "address": str(number)}
                insert(db, "memory_event", profile_id=rank, rank=rank, device=device, operator_name="a", **own)

    found = results("memory_by_operator", db)

    assert [(row["rank"], row["peak_bytes"], row["allocation_count"]) for row in found] == [(0, 10, 1), (1, 10, 1)]


def test_a_free_of_what_was_allocated_before_the_capture_belongs_to_nobody() -> None:
    db = empty_tables()
    profile(db, 0)
    insert(db, "memory_event", rank=0, ts_ns=0, kind="free", size_bytes=8, address="0x10", device="npu:0")

    assert results("memory_by_operator", db) == []


def test_the_operator_is_found_by_its_number_where_no_name_was_recorded() -> None:
    db = empty_tables()
    profile(db, 0)
    insert(db, "operator", rank=0, operator_id=3, thread="main", name="aten::mm", ts_ns=0, dur_ns=1)
    insert(db, "memory_event", rank=0, ts_ns=0, kind="alloc", size_bytes=8, address="1", operator_id=3)
    insert(db, "memory_event", rank=0, ts_ns=1, kind="alloc", size_bytes=4, address="2")

    found = {row["operator_name"]: row["retained_bytes"] for row in results("memory_by_operator", db)}

    assert found == {"aten::mm": 8, "unknown": 4}


def test_requests_and_segments_are_no_allocations() -> None:
    db = events((0, "a", 4))
    with together(db):
        for kind in ("free_requested", "segment_alloc", "segment_free", "oom"):
            insert(db, "memory_event", rank=0, ts_ns=1, kind=kind, size_bytes=900, address="0", device="npu:0")

    (peak,) = results("memory_peak", db)
    (held,) = results("memory_by_operator", db)

    assert (peak["peak_allocated_bytes"], held["retained_bytes"]) == (4, 4)


def test_totals_of_the_allocator_are_believed_over_the_sum_of_events() -> None:
    db = events((10, "a", 4), allocated_bytes=1_004, reserved_bytes=2_048, active_bytes=1_004)

    (row,) = results("memory_peak", db)

    assert (row["peak_allocated_bytes"], row["peak_reserved_bytes"], row["source"]) == (1_004, 2_048, "totals")


def test_a_recorded_curve_is_believed_over_events() -> None:
    db = events((10, "a", 4))
    for moment, component, allocated, reserved in ((1, "PTA", 70, 100), (2, "PTA", 90, 100), (3, "APP", None, 500)):
        own = {"component": component, "allocated_bytes": allocated, "reserved_bytes": reserved}
        insert(db, "memory_sample", rank=0, ts_ns=moment, **own)

    found = results("memory_peak", db)

    columns = ("component", "peak_allocated_bytes", "peak_reserved_bytes", "peak_ts_ns", "source")
    assert [tuple(row[column] for column in columns) for row in found] == [
        ("APP", None, 500, 3, "curve"),
        ("PTA", 90, 100, 2, "curve"),
    ]


def test_the_one_sample_at_the_end_of_a_snapshot_is_not_the_peak() -> None:
    # 16 and 4 more, then the 16 are freed: 20 at its highest, 4 at the end, which is what the sample says.
    db = events((10, "a", 16), (20, "b", 4), (30, "a", -16))
    insert(db, "memory_sample", rank=0, ts_ns=40, component="npu:0", allocated_bytes=4, reserved_bytes=32)
    insert(db, "memory_sample", rank=0, ts_ns=40, component="npu:1", allocated_bytes=7, reserved_bytes=8)

    found = results("memory_peak", db)

    columns = ("component", "peak_allocated_bytes", "peak_ts_ns", "end_allocated_bytes", "source")
    assert [tuple(row[column] for column in columns) for row in found] == [
        ("npu:0", 20, 20, 4, "events"),
        ("npu:1", 7, 40, 7, "curve"),
    ]


def test_each_profile_takes_what_it_recorded() -> None:
    db = events((10, "a", 4))
    profile(db, 1)
    insert(db, "memory_sample", profile_id=1, rank=1, ts_ns=1, component="PTA", allocated_bytes=7)

    found = [(row["rank"], row["component"], row["source"]) for row in results("memory_peak", db)]

    assert found == [(0, "npu:0", "events"), (1, "PTA", "curve")]


def test_at_the_peak_the_holders_are_those_who_have_not_freed() -> None:
    # 4, 6, 2, 7, 12, 10: the peak is at 50; of a's blocks one is freed by then
    db = events((10, "a", 4), (20, "b", 2), (30, "a", -4), (40, "a", 5), (50, "c", 5), (60, "b", -2))

    found = results("memory_at_peak", db)

    assert [
        (row["operator_name"], row["held_bytes"], row["block_count"], row["device_bytes"], row["peak_ts_ns"])
        for row in found
    ] == [("a", 5, 1, 12, 50), ("c", 5, 1, 12, 50), ("b", 2, 1, 12, 50)]
    assert found[0]["share_ratio"] == 5 / 12


def test_the_first_of_equal_peaks_is_taken() -> None:
    db = events((10, "a", 4), (20, "a", -4), (30, "b", 4))

    assert [(row["operator_name"], row["peak_ts_ns"]) for row in results("memory_at_peak", db)] == [("a", 10)]


def test_the_module_of_the_operator_that_allocated_is_named() -> None:
    db = empty_tables()
    profile(db, 0)
    with together(db):
        for number, module in enumerate(("Net.first", "Net.second")):
            insert(db, "operator", rank=0, operator_id=number, name="aten::mm", module=module)
            own = {"ts_ns": 10 + number, "kind": "alloc", "size_bytes": 8 + number, "address": str(number)}
            insert(db, "memory_event", rank=0, operator_id=number, **own)

    found = results("memory_at_peak", db)

    assert [(row["operator_name"], row["module"], row["held_bytes"], row["device"]) for row in found] == [
        ("aten::mm", "Net.second", 9, "device"),
        ("aten::mm", "Net.first", 8, "device"),
    ]


def test_what_was_allocated_before_the_capture_is_nobodys_at_the_peak() -> None:
    db = events((10, "a", 4))
    insert(db, "memory_event", rank=0, ts_ns=5, kind="free", size_bytes=9, address="before", device="npu:0")

    assert [row["held_bytes"] for row in results("memory_at_peak", db)] == [4]
