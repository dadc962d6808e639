"""Timelines of drawn runs: what lies where, nothing lost, nothing crossing."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from duckdb import DuckDBPyConnection
from hypothesis import given, settings, strategies as st

from ascend_sn.errors import StoreError
from ascend_sn.store import Location
from ascend_sn.store.input import Input
from ascend_sn.store.run import Run
from ascend_sn.store.timeline import timeline_of
from ascend_sn.store.timeline_build import ClassLane, build_timeline
from ascend_sn.store.timeline_files import NO_KEY, NO_PLACE, TimelineFiles, Track
from tests.timeline import empty_tables, insert, timeline, together
from tests.unit.report.drawn import DrawnRun

Row = tuple[int, int, int, str, str, int]


def made(db: DuckDBPyConnection, folder: Path, **options: Any) -> TimelineFiles:
    folder.mkdir(exist_ok=True)
    build_timeline(DrawnRun(db), folder, **options)
    return TimelineFiles(folder)


def tracks(files: TimelineFiles, profile: int = 0) -> list[tuple[str, str | None, str | None, int, int]]:
    return [(one.table, one.group, one.label, one.depths, one.slice_count) for one in files.profiles[profile].tracks]


def track(files: TimelineFiles, table: str, label: str | None = None, profile: int = 0) -> Track:
    (found,) = [
        one for one in files.profiles[profile].tracks if one.table == table and (label is None or one.label == label)
    ]
    return found


def slices(files: TimelineFiles, one: Track, profile: int = 0) -> list[Row]:
    """Depth, start, end, name, kind and key of every slice of a track, by depth and time."""
    arrays = files.arrays(profile)
    found = []
    for depth in range(one.depths):
        segment = arrays.segment(one.first_segment + depth)
        for at in range(segment.slices):
            found.append(
                (
                    depth,
                    int(arrays.start[segment.base + at]),
                    int(arrays.end[segment.base + at]),
                    files.name(int(arrays.name[segment.place + at])),
                    files.meta.kinds[int(arrays.kind[segment.place + at])],
                    int(arrays.key[segment.place + at]),
                )
            )
    return found


def test_a_drawn_run_has_a_track_per_lane(tmp_path: Path) -> None:
    files = made(
        timeline(
            """
            r0 step |1111222222|
            r0 s1   |.AA.BB....|
            r0 s10  |...C......|
            r0 s2   |......D...|
            r0 host |dff...o...|
            """,
            kinds={"C": "communication"},
        ),
        tmp_path,
    )

    assert tracks(files) == [
        ("step", None, None, 1, 2),
        ("operator", None, "host", 1, 3),
        ("kernel", "0", "1", 1, 2),
        ("kernel", "0", "2", 1, 1),
        ("kernel", "0", "10", 1, 1),
    ]
    assert slices(files, track(files, "kernel", "1")) == [(0, 1, 3, "A", "compute", 0), (0, 4, 6, "B", "compute", 1)]
    assert slices(files, track(files, "kernel", "10")) == [(0, 3, 4, "C", "communication", 2)]
    assert slices(files, track(files, "step")) == [(0, 0, 4, "step 1", "step", 0), (0, 4, 10, "step 2", "step", 1)]
    assert [row[4] for row in slices(files, track(files, "operator"))] == ["data", "forward", "optimizer"]
    assert files.meta.slice_count == 9


def test_times_count_from_the_first_record_of_the_profile(tmp_path: Path) -> None:
    db = timeline("r0 s1 |...A..|")
    db.execute("update kernel set ts_ns = ts_ns + 1700000000000000000")

    files = made(db, tmp_path)

    assert (files.profiles[0].origin_ns, files.profiles[0].dur_ns) == (1_700_000_000_000_000_003, 1)
    assert slices(files, track(files, "kernel")) == [(0, 0, 1, "A", "compute", 0)]


def test_a_time_stamp_of_zero_does_not_stretch_the_axis_over_decades(tmp_path: Path) -> None:
    db = timeline("r0 s1 |A.B.C.D|")
    db.execute("update kernel set ts_ns = ts_ns + 1700000000000000000 where name <> 'A'")

    files = made(db, tmp_path)

    assert (files.profiles[0].origin_ns, files.profiles[0].dur_ns) == (1_700_000_000_000_000_002, 4)
    assert [row[3] for row in slices(files, track(files, "kernel"))] == ["A", "B", "C", "D"]


def test_nested_operators_lie_at_their_depth_with_their_self_time(tmp_path: Path) -> None:
    # |AAAAAAAA|
    # |.BBB.CC.|
    # |..D.....|
    db = empty_tables()
    insert(db, "profile", rank=0, source="r0")
    with together(db):
        for key, (name, start, end) in enumerate((("A", 0, 8), ("B", 1, 4), ("D", 2, 3), ("C", 5, 7))):
            insert(db, "operator", operator_id=key, thread="7", name=name, ts_ns=start, dur_ns=end - start)

    files = made(db, tmp_path)

    one = track(files, "operator")
    assert [row[:4] for row in slices(files, one)] == [(0, 0, 8, "A"), (1, 1, 4, "B"), (1, 5, 7, "C"), (2, 2, 3, "D")]
    arrays = files.arrays(0)
    own = [
        arrays.self_ns[segment.self_place : segment.self_place + segment.slices].tolist()
        for segment in (arrays.segment(one.first_segment + depth) for depth in range(3))
    ]
    assert own == [[3], [2, 2], [1]]


def test_curves_hold_their_values_and_the_highest_of_each_group(tmp_path: Path) -> None:
    db = empty_tables()
    insert(db, "profile", rank=0, source="r0")
    with together(db):
        for at in range(40):
            insert(db, "counter", name="HBM 0/Read", unit="bytes/s", ts_ns=10 * at, value=float(at % 17))
            insert(db, "memory_sample", component="PTA", ts_ns=10 * at, allocated_bytes=at, reserved_bytes=100 + at)
    insert(db, "metric", name="loss", ts_ns=5, value=0.5)

    files = made(db, tmp_path)

    assert tracks(files) == [
        ("memory_sample", "PTA", "allocated", 1, 40),
        ("memory_sample", "PTA", "reserved", 1, 40),
        ("counter", "HBM 0", "HBM 0/Read", 1, 40),
        ("metric", None, "loss", 1, 1),
    ]
    arrays = files.arrays(0)
    segment = arrays.segment(track(files, "counter").first_segment)
    values = arrays.value[segment.value : segment.value + 44].tolist()
    assert values[:40] == [float(at % 17) for at in range(40)]
    assert values[40:] == [15.0, 16.0, 16.0, 16.0]  # of 0 to 15, of 16 to 31, of 32 to 39, of all
    assert arrays.start[segment.base : segment.base + 3].tolist() == [0, 10, 20]
    assert arrays.end[segment.base : segment.base + 3].tolist() == [10, 20, 30]


def test_rows_without_a_time_or_with_a_negative_length_are_not_drawn(tmp_path: Path) -> None:
    db = timeline("r0 s1 |A.B.C|")
    db.execute("update kernel set ts_ns = null where name = 'A'; update kernel set dur_ns = -5 where name = 'B'")

    assert [row[3] for row in slices(made(db, tmp_path), track(made(db, tmp_path / "b"), "kernel"))] == ["C"]


def test_class_lanes_are_handed_in(tmp_path: Path) -> None:
    lane = ClassLane("free", np.array([2, 6], np.int64), np.array([4, 7], np.int64))

    files = made(timeline("r0 s1 |AA..BB.A|"), tmp_path, class_lanes=lambda run, profile_id: [lane])

    assert slices(files, track(files, "overlap")) == [
        (0, 2, 4, "free", "free", 2**32 - 1),
        (0, 6, 7, "free", "free", 2**32 - 1),
    ]


def test_large_keys_are_kept_whole(tmp_path: Path) -> None:
    db = timeline("r0 s1 |A.B|")
    db.execute(
        "update kernel set kernel_id = 5000000000 where name = 'B'; update kernel set kernel_id = null where name = 'A'"
    )

    files = made(db, tmp_path)

    assert [row[5] for row in slices(files, track(files, "kernel"))] == [NO_KEY, 5_000_000_000]


def test_profiles_without_times_are_there_too(tmp_path: Path) -> None:
    db = empty_tables()
    insert(db, "profile", rank=0, source="r0")

    files = made(db, tmp_path)

    assert (files.profiles[0].dur_ns, files.profiles[0].tracks) == (0, [])
    assert len(files.arrays(0).start) == 0


def test_a_run_of_the_users_gets_its_timeline_in_the_cache(tmp_path: Path) -> None:
    from tests.unit.insight.drawn_runs import write_run

    folder = write_run(timeline("r0 s1 |AABB|"), tmp_path / "run")
    before = sorted(folder.rglob("*"))
    location = Location(folder, Input.of(folder), is_cached=False)
    progress: list[tuple[int, int, str]] = []

    with Run(folder, location.input) as run:
        for _ in range(2):
            files = timeline_of(
                run, location, cache_dir=tmp_path / "cache", progress=lambda *said: progress.append(said)
            )

    assert sorted(folder.rglob("*")) == before
    assert files.folder.is_relative_to(tmp_path / "cache")
    assert files.meta.slice_count == 2
    assert progress == [(0, 1, "r0")]  # built once


def test_a_damaged_timeline_is_named(tmp_path: Path) -> None:
    made(timeline("r0 s1 |AABB|"), tmp_path)
    (tmp_path / "profile=0" / "start.bin").unlink()

    with pytest.raises(StoreError, match="the timeline cannot be read"):
        TimelineFiles(tmp_path).arrays(0)
    (tmp_path / "meta.json").write_text("{")
    assert not TimelineFiles.is_whole(tmp_path)


@pytest.mark.parametrize("name", ["start", "end", "busy", "length", "name", "kind", "key", "segments"])
def test_a_timeline_that_was_cut_or_made_up_is_refused(tmp_path: Path, name: str) -> None:
    made(timeline("r0 s1 |A.B.C.D.E.F.G.H.I.J.K.L.M.N.O.P.Q.R.S|"), tmp_path)
    path = tmp_path / "profile=0" / f"{name}.bin"
    path.write_bytes(path.read_bytes()[:-8])

    with pytest.raises(StoreError, match="damaged"):
        TimelineFiles(tmp_path).arrays(0)


def test_segments_that_point_elsewhere_are_refused(tmp_path: Path) -> None:
    made(timeline("r0 s1 |A.B.C.D|"), tmp_path)
    path = tmp_path / "profile=0" / "segments.bin"
    whole = np.fromfile(path, np.int64)
    for at, value in ((0, -1), (0, 1 << 60), (1, -5), (2, 1 << 40), (2, -3), (3, 9), (4, -7), (5, 3)):
        changed = whole.copy()
        changed[at] = value
        changed.tofile(path)

        with pytest.raises(StoreError, match="damaged"):
            TimelineFiles(tmp_path).arrays(0)


drawn = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 15), st.sampled_from("ABC")), max_size=30
)


@settings(max_examples=20)
@given(drawn)
def test_no_slice_is_lost_and_none_crosses_another_of_its_row(rows: list[tuple[int, int, int, str]]) -> None:
    db = empty_tables()
    insert(db, "profile", rank=0, source="r0")
    with together(db):
        for key, (thread, ts, dur, name) in enumerate(rows):
            insert(db, "operator", operator_id=key, thread=str(thread), name=name, ts_ns=ts, dur_ns=dur)
            insert(db, "kernel", kernel_id=key, stream=str(thread), name=name, kind="compute", ts_ns=ts, dur_ns=dur)
    with TemporaryDirectory() as folder:
        files = made(db, Path(folder) / "timeline")
        arrays, origin = files.arrays(0), files.profiles[0].origin_ns
        for table in ("operator", "kernel"):
            for lane in {row[0] for row in rows}:
                one = track(files, table, str(lane))
                kept = slices(files, one)
                own = [(ts, ts + dur, name, key) for key, (at, ts, dur, name) in enumerate(rows) if at == lane]

                assert one.slice_count == len(own)
                assert sorted(
                    (start + origin, end + origin, name, key) for _, start, end, name, _, key in kept
                ) == sorted(own)
                busy = 0
                for depth in range(one.depths):
                    segment = arrays.segment(one.first_segment + depth)
                    row = [piece for piece in kept if piece[0] == depth]
                    assert all(left[2] <= right[1] for left, right in pairwise(row))
                    lengths = [piece[2] - piece[1] for piece in row]
                    busy += (
                        int(arrays.busy[segment.upper + _nodes(segment.slices) - 1])
                        if segment.slices > 1
                        else lengths[0]
                    )
                assert busy == sum(end - start for start, end, _, _ in own)


def _nodes(slices: int, factor: int = 16) -> int:
    """Nodes above the slices."""
    total = 0
    while slices > 1:
        slices = -(-slices // factor)
        total += slices
    return total


def test_self_time_is_kept_where_there_is_more_than_one_depth(tmp_path: Path) -> None:
    db = timeline("r0 s1 |AAAA|")
    insert(db, "kernel", kernel_id=9, device_id=0, stream="1", name="B", kind="copy", ts_ns=1, dur_ns=2)

    files = made(db, tmp_path)

    arrays, one = files.arrays(0), track(files, "kernel")
    outer, inner = (arrays.segment(one.first_segment + depth) for depth in (0, 1))
    assert (arrays.self_ns[outer.self_place], arrays.self_ns[inner.self_place]) == (2, 2)
    assert made(timeline("r0 s1 |AAAA|"), tmp_path / "flat").arrays(0).segment(0).self_place == NO_PLACE


def test_requests_lie_in_as_few_rows_as_needed_and_their_phases_by_name(tmp_path: Path) -> None:
    # r1 |AAAAAAAA....|
    # r2 |.BBB.DDDDD..|   inside of A, and no part of it
    # r3 |..CCCCCCCCCC|
    db = empty_tables()
    insert(db, "profile", rank=0, source="r0")
    with together(db):
        for key, (name, start, end) in enumerate((("A", 0, 8), ("B", 1, 4), ("C", 2, 12), ("D", 5, 10))):
            thread = "7" if name in "AB" else "8"
            insert(db, "span", span_id=key, name=name, domain="request", thread=thread, ts_ns=start, dur_ns=end - start)
    for key, name, start, end in ((4, "Prefill", 0, 3), (5, "Prefill", 2, 4), (6, "warm", 4, 5)):
        insert(db, "span", span_id=key, name=name, domain="request phase", ts_ns=start, dur_ns=end - start)
    insert(db, "span", span_id=7, name="mark", domain="user", thread="7", ts_ns=1, dur_ns=1)

    files = made(db, tmp_path)

    assert [(one.side, *row) for one, row in zip(files.profiles[0].tracks, tracks(files), strict=True)] == [
        ("marks", "span", "user", "7", 1, 1),
        ("requests", "span", "request", None, 3, 4),
        ("requests", "span", "request phase", "Prefill", 2, 2),
        ("requests", "span", "request phase", "warm", 1, 1),
    ]
    _, requests, prefill, _ = files.profiles[0].tracks
    assert slices(files, requests) == [
        (0, 0, 8, "A", "request", 0),
        (1, 1, 4, "B", "request", 1),
        (1, 5, 10, "D", "request", 3),
        (2, 2, 12, "C", "request", 2),
    ]
    assert slices(files, prefill) == [(0, 0, 3, "Prefill", "prefill", 4), (1, 2, 4, "Prefill", "prefill", 5)]
    assert files.arrays(0).segment(requests.first_segment).self_place == NO_PLACE


def test_a_run_without_requests_has_no_lane_of_them(tmp_path: Path) -> None:
    db = empty_tables()
    insert(db, "profile", rank=0, source="r0")
    insert(db, "span", span_id=0, name="A", domain=None, ts_ns=0, dur_ns=1)

    assert [(one.side, one.slice_count) for one in made(db, tmp_path).profiles[0].tracks] == [("marks", 1)]
