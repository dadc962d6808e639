"""Hostile and damaged files: a claim, an error of ours, or a capture, never anything else."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ascend_sn.errors import AscendSnError, EmptyInputError, FormatError
from ascend_sn.formats.kineto.reader import EXECUTION_TRACE, READER
from ascend_sn.formats.reader import Candidate, Source
from tests.unit.formats.kineto.traces import annotation, captured, kernel, launch, ledger, operator, rows, state, write

WHOLE = json.dumps(
    {
        "schemaVersion": 1,
        "deviceProperties": [],
        "traceEvents": [
            event
            for i in range(6)
            for event in (
                operator("aten::mm", 20 * i, 9),
                launch(i + 1, 20 * i),
                kernel("k", 20 * i, 5, correlation=i + 1),
            )
        ],
    }
).encode()


def test_an_empty_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.touch()

    assert not READER.claims(Candidate(path))
    with pytest.raises(EmptyInputError, match="file is empty"):
        captured(path)


def test_a_renamed_file_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "holiday.jpg"
    path.write_bytes(gzip.compress(WHOLE))

    assert READER.claims(Candidate(path))
    assert len(captured(path).rows("kernel")) == 6


@pytest.mark.parametrize("cut", range(120, len(WHOLE) - 2, 97))
def test_a_cut_file_gives_what_came_before_the_cut(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(WHOLE[:cut])
    whole = WHOLE[:cut].count(b"}}") - WHOLE[:cut].endswith(b"}}}")

    if not whole:
        with pytest.raises(FormatError):
            captured(path)
        return
    capture = captured(path)

    found = sum(len(capture.rows(table)) for table in ("operator", "host_call"))
    found += len(capture.rows("kernel")) if capture.header.device_kind != "cpu" else 0
    assert found == whole
    assert capture.ledger.entries


def test_a_cut_gzip_file_gives_what_came_before_the_cut(tmp_path: Path) -> None:
    many = json.dumps({"deviceProperties": [], "traceEvents": [operator(f"op{i}", i, 1) for i in range(5000)]}).encode()
    packed = gzip.compress(many)
    path = tmp_path / "trace.json.gz"
    path.write_bytes(packed[: len(packed) // 2])

    capture = captured(path)

    assert 0 < len(capture.rows("operator")) < 5000
    assert any(entry.severity == "damage" for entry in capture.ledger.entries)
    assert state(capture, "operator") == "damaged"


@given(st.binary(max_size=300))
def test_random_bytes_raise_only_our_errors(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("random") / "trace.json"
    path.write_bytes(data)

    READER.claims(Candidate(path))
    EXECUTION_TRACE.claims(Candidate(path))
    with pytest.raises(AscendSnError):
        captured(path)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
_KEYS = ("name", "cat", "ph", "ts", "dur", "pid", "tid", "id", "args")
_ARGS = (
    "correlation",
    "Input Dims",
    "Input type",
    "grid",
    "device",
    "stream",
    "bytes",
    "labels",
    "Bytes",
    "Call stack",
)
_EVENT = st.fixed_dictionaries(
    {},
    optional={
        **{key: _VALUES for key in _KEYS},
        "ph": st.sampled_from(["X", "B", "E", "i", "s", "f", "M", "C", "b", ""]) | _VALUES,
        "cat": st.sampled_from(
            ["cpu_op", "kernel", "gpu_memcpy", "cuda_runtime", "cuda_sync", "python_function", "fwdbwd"]
        )
        | _VALUES,
        "name": st.sampled_from(["[memory]", "ProfilerStep#3", "record_param_comms", "ncclDevKernel_Reduce"]) | _VALUES,
        "ts": st.integers(-5, 50) | _VALUES,
        "dur": st.integers(-5, 50) | _VALUES,
        "args": st.dictionaries(st.sampled_from(_ARGS), _VALUES, max_size=4) | _VALUES,
    },
)


@given(
    st.lists(_EVENT, max_size=12),
    st.dictionaries(st.sampled_from(("distributedInfo", "deviceProperties", "baseTimeNanoseconds")), _VALUES),
)
def test_events_of_any_shape_give_a_capture_or_our_error(
    tmp_path_factory: pytest.TempPathFactory, events: list[dict[str, object]], metadata: dict[str, object]
) -> None:
    path = tmp_path_factory.mktemp("odd") / "trace.json"
    path.write_text(json.dumps({**metadata, "traceEvents": events}))

    try:
        capture = captured(path)
    except AscendSnError:
        return

    for table in capture.tables.values():
        assert all(len(column) == table.length for column in table.columns.values())


def test_impossible_times_are_set_aside_and_counted(tmp_path: Path) -> None:
    late = operator("no start", 0, 5)
    del late["ts"]
    endless = operator("no length", 7, 5)
    del endless["dur"]
    forever = operator("forever", 10**15, 4 * 10**15)
    path = write(tmp_path, operator("negative", 1, -4), late, endless, operator("whole", 9, 2), forever, launch(1, 0))

    capture = captured(path)

    assert rows(capture, "operator", "name", "dur_ns") == [("no length", 0), ("whole", 2000)]
    assert ledger(capture) == {
        "negative_duration": 1,
        "missing_start": 1,
        "missing_duration": 1,
        "impossible_time": 1,
    }


def test_an_execution_trace_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "et.json"
    path.write_text('{"schema": "1.0.2-chakra.0.0.4", "pid": 7, "nodes": [{"id": 1, "name": "x"}]}')
    source = Source(EXECUTION_TRACE, path, path)

    assert EXECUTION_TRACE.claims(Candidate(path))
    assert not READER.claims(Candidate(path))
    with pytest.raises(FormatError, match="execution trace"):
        EXECUTION_TRACE.read(source)


def test_ascend_and_unknown_traces_are_not_claimed(tmp_path: Path) -> None:
    ascend = tmp_path / "trace_view.json"
    ascend.write_text(
        '[{"ph":"X","name":"aten::mm","pid":1,"tid":1,"ts":"1736408883688177.930","dur":1,"cat":"cpu_op"}]'
    )
    other = tmp_path / "other.json"
    other.write_text('{"traceEvents": [{"ph":"X","name":"f","cat":"browser","pid":1,"tid":1,"ts":1,"dur":1}]}')

    assert not READER.claims(Candidate(ascend))
    assert not READER.claims(Candidate(other))


def test_times_as_text_beside_the_keys_of_pytorch_are_read(tmp_path: Path) -> None:
    mark = annotation("ProfilerStep#3", 0, 0)
    path = write(tmp_path, {**mark, "ts": "1736408883688177.931", "dur": "20.5"})

    assert READER.claims(Candidate(path))
    assert rows(captured(path), "step", "step", "ts_ns", "dur_ns") == [(3, 1_736_408_883_688_177_931, 20_500)]


@pytest.mark.parametrize(
    ("metadata", "kind", "place"),
    [
        ({"distributedInfo": [3]}, "unreadable_metadata", "distributedInfo"),
        ({"distributedInfo": {"rank": "zero"}}, "unreadable_metadata", "rank"),
        ({"distributedInfo": {"rank": -5}}, "unreadable_metadata", "rank"),
        ({"distributedInfo": {"rank": 0, "world_size": 1.5}}, "unreadable_metadata", "world_size"),
        ({"deviceProperties": {"id": 0}}, "unreadable_metadata", "deviceProperties"),
        (
            {"distributedInfo": {"pg_config": [{"pg_name": "0", "ranks": "[" * 90_000}]}},
            "unreadable_entry",
            "pg_config",
        ),
        ({"distributedInfo": {"pg_config": [7]}}, "unreadable_entry", "pg_config"),
    ],
)
def test_metadata_of_another_kind_are_told(tmp_path: Path, metadata: dict[str, Any], kind: str, place: str) -> None:
    capture = captured(write(tmp_path, kernel("k", 1, 5), **metadata))

    assert [(entry.kind, entry.place, entry.count) for entry in capture.ledger.entries] == [(kind, place, 1)]


def test_a_list_of_members_that_the_writer_cut_short_is_no_damage(tmp_path: Path) -> None:
    groups = [{"pg_name": "0", "ranks": "[0, 1, ...]"}, {"pg_name": "1", "ranks": []}]

    assert captured(write(tmp_path, kernel("k", 1, 5), distributedInfo={"pg_config": groups})).ledger.entries == []
