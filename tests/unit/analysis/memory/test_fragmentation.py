from __future__ import annotations

from typing import Any

import pytest

from ascend_sn.analysis.memory.fragmentation import fragmentation
from tests.unit.analysis.traces import Row, results


def sample(ts_ns: int, reserved: int, allocated: int | None, component: str = "PTA") -> Row:
    level = {"reserved_bytes": reserved, "allocated_bytes": allocated}
    return ("memory_sample", {"ts_ns": ts_ns, "component": component, **level})


def event(ts_ns: int, kind: str, size_bytes: int, address: int | None = None, **more: Any) -> Row:
    place = None if address is None else str(address)
    return ("memory_event", {"ts_ns": ts_ns, "kind": kind, "size_bytes": size_bytes, "address": place, **more})


def test_ten_reserved_and_seven_allocated_are_30_percent_fragments() -> None:
    (row,) = results(fragmentation, [sample(0, 8, 8), sample(1, 10, 7), sample(2, 9, 1)])

    assert (row["reserved_bytes"], row["allocated_bytes"], row["unused_bytes"], row["ts_ns"]) == (10, 7, 3, 1)
    assert row["fragmentation_ratio"] == pytest.approx(0.3)


def test_of_equal_peaks_the_fullest_moment_counts() -> None:
    (row,) = results(fragmentation, [sample(0, 10, 2), sample(1, 10, 7), sample(2, 10, 3)])

    assert (row["ts_ns"], row["allocated_bytes"]) == (1, 7)


def test_what_the_process_holds_beyond_the_pools_is_unaccounted() -> None:
    pools = [sample(0, 60, 50), sample(0, 70, 50, "PTA+GE"), sample(0, 100, None, "APP")]

    rows = results(fragmentation, pools)

    assert [(row["component"], row["unaccounted_bytes"]) for row in rows] == [("PTA+GE", 30), ("PTA", None)]


def test_a_failed_request_is_held_against_the_largest_free_block() -> None:
    totals = {"allocated_bytes": 60, "reserved_bytes": 100, "device": "npu:0"}
    rows = [
        event(0, "segment_alloc", 60, 1000, device="npu:0"), event(1, "segment_alloc", 40, 1060, device="npu:0"),
        event(2, "alloc", 20, 1000, **totals), event(3, "alloc", 20, 1030, **totals),
        event(4, "alloc", 20, 1080, **totals),
        event(5, "alloc", 10, 1020, **totals), event(6, "free", 10, 1020, **totals),
        event(7, "oom", 30, device="npu:0"),
    ]  # fmt: skip

    (row,) = results(fragmentation, rows)

    # free: [1020, 1030), [1050, 1060) and, in the other segment although it touches, [1060, 1080)
    assert (row["oom_count"], row["failed_bytes"], row["largest_free_bytes"], row["free_bytes"]) == (1, 30, 20, 40)
    assert row["fragmentation_ratio"] == pytest.approx(0.4)


def block(size_bytes: int, requested_bytes: int | None, device: str = "npu:0") -> Row:
    return ("memory_block", {"size_bytes": size_bytes, "requested_bytes": requested_bytes, "device": device})


def test_what_blocks_are_longer_than_was_asked_for_is_lost_to_rounding() -> None:
    pools = [sample(0, 4096, 3072, "npu:0"), sample(0, 4096, 1024, "npu:1"), sample(0, 4096, 1024, "PTA")]
    blocks = [block(512, 500), block(2560, 2049), block(1024, 1024, "npu:1")]

    found = {row["component"]: row["rounding_bytes"] for row in results(fragmentation, [*pools, *blocks])}

    # 12 + 511; a pool without blocks does not tell.
    assert found == {"npu:0": 523, "npu:1": 0, "PTA": None}


def test_rounding_is_not_known_where_a_block_does_not_tell_what_was_asked_for() -> None:
    (row,) = results(fragmentation, [sample(0, 4096, 1024, "npu:0"), block(512, 500), block(512, None)])

    assert row["rounding_bytes"] is None


def test_without_segments_the_free_blocks_are_not_known() -> None:
    totals = {"allocated_bytes": 60, "reserved_bytes": 100}
    (row,) = results(fragmentation, [event(2, "alloc", 20, 1000, **totals), event(7, "oom", 30)])

    assert (row["oom_count"], row["largest_free_bytes"], row["free_bytes"]) == (1, None, None)


def test_a_component_without_allocated_bytes_has_no_ratio() -> None:
    assert results(fragmentation, [sample(0, 100, None, "APP")]) == []


def test_one_sample_at_the_end_does_not_stand_for_the_curve_of_its_device() -> None:
    # 100 reserved: 90 of it are used at 1, and 10 at the end, which is what the sample says.
    rows = [
        event(0, "segment_alloc", 100, 0, device="npu:0", reserved_bytes=100, allocated_bytes=0),
        event(1, "alloc", 90, 0, device="npu:0", reserved_bytes=100, allocated_bytes=90),
        event(2, "free", 80, 10, device="npu:0", reserved_bytes=100, allocated_bytes=10),
        sample(3, 100, 10, "npu:0"),
        sample(3, 50, 5, "npu:1"),
    ]

    found = [(row["component"], row["ts_ns"], row["unused_bytes"]) for row in results(fragmentation, rows)]

    assert found == [("npu:0", 1, 10), ("npu:1", 3, 45)]
