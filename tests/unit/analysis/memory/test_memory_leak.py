from __future__ import annotations

from typing import Any

import pytest

from ascend_sn.analysis.memory.memory_leak import memory_leak
from tests.unit.analysis.traces import Row, numbered, operator, results, step

MB = 1_000_000
STEPS = 60


def steps(count: int = STEPS) -> list[Row]:
    return [step(100 * at, 100, at) for at in range(count)]


def event(ts_ns: int, kind: str, size_bytes: int, address: str, **more: Any) -> Row:
    return ("memory_event", {"ts_ns": ts_ns, "kind": kind, "size_bytes": size_bytes, "address": address, **more})


def two_allocations_and_one_free(count: int = STEPS) -> list[Row]:
    rows = steps(count)
    for at in range(count):
        begin = 100 * at
        rows += [event(begin + 10, "alloc", 4 * MB, f"kept{at}"), event(begin + 20, "alloc", 4 * MB, f"freed{at}"),
                 event(begin + 90, "free", 4 * MB, f"freed{at}")]  # fmt: skip
    return numbered(rows)


def test_two_allocations_and_one_free_of_4_mb_per_step_leak_4_mb_and_400_mb_last_100_steps() -> None:
    rows = two_allocations_and_one_free()
    # before the last step 59 x 4 MB are held, and at its peak 8 MB more
    capacity: Row = (
        "metric",
        {"name": "memory_capacity_bytes", "ts_ns": 0, "value": float(59 * 4 * MB + 8 * MB + 400 * MB)},
    )

    (row,) = results(memory_leak, [*rows, capacity])

    assert (row["verdict"], row["slope_bytes_per_step"], row["source"]) == ("leak", 4.0 * MB, "events")
    assert (row["last_floor_bytes"], row["last_peak_bytes"]) == (59 * 4 * MB, 59 * 4 * MB + 8 * MB)
    assert row["steps_left"] == 100
    assert (row["onset_step_id"], row["onset_step"]) == (1, 1)  # steps 0 and 1 begin with 4 MB


def test_without_a_known_capacity_no_end_is_predicted() -> None:
    (row,) = results(memory_leak, two_allocations_and_one_free())

    assert (row["capacity_bytes"], row["steps_left"]) == (None, None)


def sampled(levels: list[int], **more: Any) -> list[Row]:
    samples: list[Row] = [
        ("memory_sample", {"ts_ns": 100 * at + 50, "component": "PTA", "allocated_bytes": level * MB, **more})
        for at, level in enumerate(levels)
    ]
    return numbered([*steps(len(levels)), *samples])


@pytest.mark.parametrize(
    ("levels", "verdict"),
    [
        ([1000 + 50 * at for at in range(60)], "leak"),
        ([1000 + 50 * min(at, 20) for at in range(60)], "cache"),
        ([1000] * 60, "steady"),
        ([1000 + 50 * at for at in range(20)], "insufficient"),
    ],
)
def test_sampled_levels_are_judged_alike(levels: list[int], verdict: str) -> None:
    (row,) = results(memory_leak, sampled(levels))

    assert (row["component"], row["source"], row["verdict"]) == ("PTA", "curve", verdict)


def test_the_onset_and_the_phase_that_grows() -> None:
    rows = steps()
    for at in range(STEPS):
        begin = 100 * at
        rows += [
            operator("forward", begin, 40, phase="forward"),
            operator("backward", begin + 50, 40, phase="backward"),
        ]
        if at >= 20:
            rows.append(event(begin + 60, "alloc", MB, str(at)))
    rows.insert(0, event(-1, "alloc", 100 * MB, "weights"))

    (row,) = results(memory_leak, numbered(rows))

    assert (row["verdict"], row["phase"]) == ("leak", "backward")
    assert row["onset_step"] in (20, 21)  # the first floor that is higher is that of step 21


def test_peaks_inside_a_step_do_not_matter() -> None:
    rows = steps()
    for at in range(STEPS):
        rows += [event(100 * at + 10, "alloc", (1 + at) * MB, "x"), event(100 * at + 90, "free", (1 + at) * MB, "x")]

    (row,) = results(memory_leak, numbered([event(-1, "alloc", 10 * MB, "base"), *rows]))

    assert (row["verdict"], row["last_floor_bytes"], row["last_peak_bytes"]) == ("steady", 10 * MB, 70 * MB)


def test_the_resident_memory_of_the_process_serves_where_nothing_else_was_recorded() -> None:
    samples: list[Row] = [
        ("counter", {"name": "process.resident_bytes", "ts_ns": 100 * at + 50, "value": float((1000 + 50 * at) * MB)})
        for at in range(60)
    ]

    (row,) = results(memory_leak, numbered([*steps(60), *samples]))

    assert (row["component"], row["verdict"], row["slope_bytes_per_step"]) == ("process", "leak", 50.0 * MB)


def test_a_process_that_grows_by_some_pages_is_steady() -> None:
    samples: list[Row] = [
        ("counter", {"name": "process.resident_bytes", "ts_ns": 100 * at + 50, "value": float(50 * MB + 8192 * at)})
        for at in range(60)
    ]

    (row,) = results(memory_leak, numbered([*steps(60), *samples]))

    assert (row["component"], row["verdict"]) == ("process", "steady")


def test_without_steps_there_is_no_floor() -> None:
    assert results(memory_leak, numbered([event(0, "alloc", MB, "x")])) == []


def test_one_sample_at_the_end_is_no_curve_its_device_is_judged_by_its_events() -> None:
    end = ("memory_sample", {"ts_ns": 100 * STEPS, "component": "device", "allocated_bytes": 4 * STEPS * MB})

    (row,) = results(memory_leak, numbered([*two_allocations_and_one_free(), end]))

    assert (row["source"], row["verdict"], row["slope_bytes_per_step"]) == ("events", "leak", 4.0 * MB)


def test_one_sample_alone_says_nothing_about_growth() -> None:
    start = ("memory_sample", {"ts_ns": 0, "component": "PTA", "allocated_bytes": 4 * MB})

    assert results(memory_leak, numbered([*steps(), start])) == []
