"""Memory snapshots: events, totals, limits on hostile pickles."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from ascend_sn.errors import AscendSnError, EmptyInputError, FormatError
from ascend_sn.formats.memory_snapshot import READER, read
from ascend_sn.formats.reader import Candidate, Source
from ascend_sn.model.capture import Capture

FRAMES = [{"name": "forward", "filename": "net.py", "line": 7}, {"name": "main", "filename": "run.py", "line": 1}]


def event(action: str, addr: int, size: int, **more: Any) -> dict[str, Any]:
    return {"action": action, "addr": addr, "size": size, "stream": 0, "frames": FRAMES, **more}


def segment(total: int, allocated: int, active: int, device: int = 0) -> dict[str, Any]:
    return {"device": device, "total_size": total, "allocated_size": allocated, "active_size": active, "blocks": []}


def write(folder: Path, snapshot: Any, name: str = "snapshot.pickle") -> Path:
    path = folder / name
    path.write_bytes(pickle.dumps(snapshot))
    return path


def captured(path: Path) -> Capture:
    (capture,) = read(Source(READER, path, path))
    return capture


def rows(capture: Capture, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in capture.rows(table).to_dicts()]


def test_totals_end_at_what_the_snapshot_holds(tmp_path: Path) -> None:
    # 100 bytes were allocated before the recording; at the end 100 + 40 are.
    trace = [
        event("segment_alloc", 1, 512),
        event("alloc", 1, 60),
        event("alloc", 2, 40),
        event("free_requested", 1, 60),
        event("free_completed", 1, 60),
    ]
    path = write(tmp_path, {"segments": [segment(1024, 140, 140)], "device_traces": [trace, []]})

    capture = captured(path)

    assert READER.claims(Candidate(path))
    assert rows(capture, "memory_event", "ts_ns", "kind", "allocated_bytes", "active_bytes", "reserved_bytes") == [
        (0, "segment_alloc", 100, 100, 1024),
        (1, "alloc", 160, 160, 1024),
        (2, "alloc", 200, 200, 1024),
        (3, "free_requested", 140, 200, 1024),
        (4, "free", 140, 140, 1024),
    ]
    assert rows(capture, "memory_sample", "component", "allocated_bytes", "reserved_bytes") == [("cuda:0", 140, 1024)]
    assert rows(capture, "stack", "stack_id", "frames") == [(0, "net.py(7): forward\nrun.py(1): main")]
    assert [entry.kind for entry in capture.ledger.entries] == ["no_times"]


def test_recorded_times_are_kept_and_an_npu_is_known_by_its_frames(tmp_path: Path) -> None:
    frames = [{"name": "f", "filename": "/site-packages/torch_npu/x.py", "line": 1}]
    trace = [
        event("alloc", 1, 8, time_us=1_700_000_000_000_000, frames=frames),
        {"action": "oom", "device_free": 3, "size": 99, "stream": 5, "time_us": 1_700_000_000_000_001},
        event("snapshot", 0, 0, time_us=1_700_000_000_000_002),
    ]
    path = write(tmp_path, {"segments": [], "device_traces": [[], trace]})

    capture = captured(path)

    assert (capture.header.device_kind, capture.header.device_id) == ("npu", 1)
    assert rows(capture, "memory_event", "ts_ns", "kind", "address", "device", "stack_id", "allocated_bytes") == [
        (1_700_000_000_000_000_000, "alloc", "1", "npu:1", 0, None),
        (1_700_000_000_000_001_000, "oom", None, "npu:1", None, None),
    ]


def test_an_old_list_of_segments_gives_the_state(tmp_path: Path) -> None:
    blocks = [
        {"size": 30, "state": "active_allocated"},
        {"size": 5, "state": "active_pending_free"},
        {"size": 29, "state": "inactive"},
    ]
    path = write(tmp_path, [{"device": 2, "total_size": 64, "segment_type": "small", "blocks": blocks}])

    assert rows(captured(path), "memory_sample", "component", "allocated_bytes", "active_bytes", "reserved_bytes") == [
        ("cuda:2", 30, 35, 64)
    ]


def test_blocks_in_use_tell_what_was_asked_for(tmp_path: Path) -> None:
    blocks = [
        {"address": 4096, "size": 512, "requested_size": 500, "state": "active_allocated", "frames": FRAMES},
        {"address": 4608, "size": 1024, "requested_size": 600, "state": "inactive"},
        {"address": 5632, "size": 1024, "requested_size": 1024, "state": "active_pending_free"},
        {"address": 6656, "size": 512, "requested_size": 9999, "state": "active_awaiting_free"},
        {"address": 7168, "size": 512, "state": "active_allocated"},
    ]
    pool = {**segment(3584, 1024, 2560), "address": 4096, "stream": 7, "blocks": blocks}
    path = write(tmp_path, {"segments": [pool], "device_traces": []})

    # The fourth claims more than it has, the fifth says nothing: both are not known, and not 0.
    found = rows(captured(path), "memory_block", "address", "size_bytes", "requested_bytes", "state", "stack_id")

    assert found == [
        ("4096", 512, 500, "allocated", 0),
        ("5632", 1024, 1024, "pending_free", None),
        ("6656", 512, None, "pending_free", None),
        ("7168", 512, None, "allocated", None),
    ]
    assert rows(captured(path), "memory_block", "device", "stream")[0] == ("cuda:0", "7")


def test_what_was_rounded_up_is_not_from_before_the_recording(tmp_path: Path) -> None:
    trace = [
        event("alloc", 4096, 500),
        event("free_requested", 4096, 500),
        event("free_completed", 4096, 500),
        event("alloc", 4096, 300),
        event("alloc", 4608, 700),
        event("free_requested", 4608, 700),
    ]
    blocks = [
        {"address": 4096, "size": 512, "requested_size": 300, "state": "active_allocated"},
        {"address": 4608, "size": 1024, "requested_size": 700, "state": "active_pending_free"},
    ]
    pool = {**segment(4096, 512, 1536), "address": 4096, "blocks": blocks}
    path = write(tmp_path, {"segments": [pool], "device_traces": [trace]})

    # Nothing was allocated before. What the first block was rounded up to is not known any more.
    found = rows(captured(path), "memory_event", "size_bytes", "allocated_bytes", "active_bytes")

    assert found == [
        (500, 500, 500), (500, 0, 500), (500, 0, 0), (300, 512, 512), (700, 1536, 1536), (700, 512, 1536),
    ]  # fmt: skip


def test_blocks_of_an_old_snapshot_follow_each_other(tmp_path: Path) -> None:
    blocks = [
        {"size": 512, "state": "active_allocated", "history": [{"addr": 64, "real_size": 300}]},
        {"size": 1024, "state": "inactive"},
        {"size": 512, "state": "active_allocated"},
    ]
    path = write(tmp_path, [{"device": 0, "address": 64, "total_size": 2048, "blocks": blocks}])

    # 64 + 512 + 1024 = 1600
    assert rows(captured(path), "memory_block", "address", "size_bytes", "requested_bytes") == [
        ("64", 512, 300), ("1600", 512, None),
    ]  # fmt: skip


def test_broken_entries_are_left_out_and_counted(tmp_path: Path) -> None:
    trace = [event("alloc", 1, 8), "no event", event("alloc", 2, -1), {"action": 3}]
    path = write(tmp_path, {"segments": ["x", segment(8, 8, 8)], "device_traces": [trace]})

    capture = captured(path)

    assert len(capture.rows("memory_event")) == 1
    assert {entry.kind: entry.count for entry in capture.ledger.entries}["unreadable_rows"] == 4


def test_an_empty_snapshot_and_an_empty_file_are_told_apart(tmp_path: Path) -> None:
    empty = tmp_path / "nothing.pickle"
    empty.touch()

    with pytest.raises(EmptyInputError, match="no events and no memory"):
        captured(write(tmp_path, {"segments": [], "device_traces": [[]]}))
    with pytest.raises(EmptyInputError, match="file is empty"):
        captured(empty)


class _Harmful:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (exec, ("raise SystemExit(0)",))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (pickle.dumps(_Harmful()), "needs no classes"),
        (pickle.dumps({"weights": [1, 2]}), "neither segments nor device_traces"),
        (b"\x80\x04\x8a\x04\xff\xff\xff\x7f", "damaged"),
        (b"\x80\x04segments", "damaged"),
        # BINBYTES8 that claims 2 GiB: nine bytes that ask for more than there is.
        (b"\x80\x04\x8e" + (2 << 30).to_bytes(8, "little") + b"x", "damaged|more memory"),
    ],
)
def test_hostile_pickles_end_in_one_error(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(content)

    with pytest.raises(FormatError, match=said):
        captured(path)


def test_shared_containers_are_walked_once(tmp_path: Path) -> None:
    shared: list[Any] = [event("alloc", 1, 8)] * 50
    path = write(tmp_path, {"segments": [], "device_traces": [shared, shared]})

    capture = captured(path)

    assert len(capture.rows("memory_event")) == 1
    assert capture.ledger.entries[0].count == 49


def test_a_cut_snapshot_is_an_error_of_ours(tmp_path: Path) -> None:
    path = write(tmp_path, {"segments": [segment(8, 8, 8)], "device_traces": [[event("alloc", 1, 8)]]})
    path.write_bytes(path.read_bytes()[:-20])

    with pytest.raises(FormatError, match="damaged"):
        captured(path)


def test_a_damaged_compressed_snapshot_is_an_error_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.pickle.gz"
    compressed = bytearray(gzip.compress(pickle.dumps({"segments": [], "device_traces": [[event("alloc", 1, 8)]]})))
    compressed[12:16] = b"\xff" * 4
    path.write_bytes(compressed)

    with pytest.raises(FormatError, match="damaged"):
        captured(path)


@settings(max_examples=8)
@given(st.binary(max_size=60))
def test_random_bytes_raise_only_our_errors(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("random") / "snapshot.pickle"
    path.write_bytes(b"\x80" + data)

    READER.claims(Candidate(path))
    with pytest.raises(AscendSnError):
        captured(path)
