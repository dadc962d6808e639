"""Memory by its parts, counted by hand; and on a real timeline, against its events added up one by one."""

from __future__ import annotations

import gzip
import json
from itertools import groupby
from pathlib import Path

import ascend_sn as sn
from ascend_sn.analysis.memory.memory_breakdown import memory_breakdown, memory_part_curves
from ascend_sn.model.memory_parts import MEMORY_CATEGORIES
from tests.shared_data import requires_shared, shared_path
from tests.unit.analysis.traces import Row, database, numbered, results


def sample(ts_ns: int, component: str, **level: int) -> Row:
    return ("memory_sample", {"ts_ns": ts_ns, "component": component, **level})


# Moment        1   2   3   4
# parameter    10  10  10  10
# activation       30   5   0
# gradient             20  20
# sum          10  40  35  30
TENSORS = [
    sample(1, "parameter", allocated_bytes=10),
    sample(2, "activation", allocated_bytes=30),
    sample(3, "activation", allocated_bytes=5),
    sample(3, "gradient", allocated_bytes=20),
    sample(4, "activation", allocated_bytes=0),
]


def test_at_the_highest_moment_the_parts_are_the_whole() -> None:
    rows = results(memory_breakdown, numbered([*TENSORS, sample(2, "all", allocated_bytes=40)]))

    columns = ("family", "part", "held_bytes", "share_ratio", "part_peak_bytes", "whole_bytes", "peak_ts_ns")
    assert [tuple(row[name] for name in columns) for row in rows] == [
        ("category", "activation", 30, 0.75, 30, 40, 2),
        ("category", "parameter", 10, 0.25, 10, 40, 2),
        ("category", "gradient", 0, 0.0, 20, 40, 2),
    ]


def test_modules_are_a_family_of_their_own_and_allocators_are_in_none() -> None:
    modules = [
        sample(1, "module:HCCL", reserved_bytes=6), sample(1, "module:GE", reserved_bytes=2),
        sample(1, "module:SLOG", reserved_bytes=0), sample(1, "PTA", allocated_bytes=99, reserved_bytes=99),
    ]  # fmt: skip

    rows = results(memory_breakdown, numbered([*TENSORS, *modules]))

    assert [(row["part"], row["held_bytes"]) for row in rows if row["family"] == "module"] == [("HCCL", 6), ("GE", 2)]
    assert len(rows) == 5


def test_curves_that_are_no_parts_give_no_rows() -> None:
    assert results(memory_breakdown, numbered([sample(1, "PTA", allocated_bytes=5), sample(1, "APP")])) == []


def curves(points: int, begin: int | None = None, end: int | None = None) -> list[tuple[str, list[int], list[int]]]:
    db = database(numbered(TENSORS))
    found = memory_part_curves(db, profile_id=0, family="category", begin_ns=begin, end_ns=end, points=points)
    return [(curve.part, curve.ts_ns, curve.held_bytes) for curve in found]


def test_the_parts_are_told_at_the_same_moments() -> None:
    assert curves(points=4) == [
        ("activation", [1, 2, 3, 4], [0, 30, 5, 0]),
        ("gradient", [1, 2, 3, 4], [0, 0, 20, 20]),
        ("parameter", [1, 2, 3, 4], [10, 10, 10, 10]),
    ]


def test_of_each_interval_the_highest_moment_is_told() -> None:
    assert [moments for _, moments, _ in curves(points=2)] == [[2, 3]] * 3  # of 10, 40 and of 35, 30
    assert [moments for _, moments, _ in curves(points=2, begin=3, end=4)] == [[3, 4]] * 3


@requires_shared
def test_a_real_timeline_is_what_its_events_add_up_to() -> None:
    path: Path = shared_path("data", "kineto", "memory_analysis", "memory_timeline.raw.gz")
    events = json.loads(gzip.decompress(path.read_bytes()))
    first = min(moment for moment, *_ in events if moment >= 0)
    placed = sorted(
        ((max(moment, first), size, category) for moment, _, size, category in events), key=lambda one: one[0]
    )
    levels, highest = [0] * len(MEMORY_CATEGORIES), [0] * len(MEMORY_CATEGORIES)
    for _, of_moment in groupby(placed, key=lambda one: one[0]):
        for _, size, category in of_moment:
            levels[category] += size
        highest = list(levels) if sum(levels) > sum(highest) else highest

    with sn.open(path) as run:
        found = sn.analysis.memory_breakdown(run).fetchall()

    held = {row[3]: row[4] for row in found}
    assert {name: size for name, size in zip(MEMORY_CATEGORIES, highest, strict=True) if size} == {
        name: size for name, size in held.items() if size
    }
