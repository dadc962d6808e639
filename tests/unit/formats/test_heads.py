"""What a file is must show in its first bytes, or in a shortened front where long texts come first."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.formats.discover import discover
from ascend_sn.formats.heads import read_head
from tests.shared_data import requires_shared, shared_path

LIMIT = 64 * 1024
LONG = "x" * 100_000
OPERATOR = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 5}
TASK = {"ph": "X", "name": "Add", "pid": 2, "tid": 3, "ts": "1.000", "dur": 5}
DEVICE = {"ph": "M", "name": "process_name", "pid": 2, "args": {"name": "Ascend Hardware"}}
UNKNOWN = {"ph": "X", "name": "work", "pid": 1, "tid": 1, "ts": 1, "dur": 5}


def opened(path: Path) -> tuple[str, int]:
    (source,) = discover(path).sources
    (capture,) = source.reader.read(source)
    return source.reader.name, sum(len(capture.rows(name)) for name in ("operator", "kernel", "span"))


def write(folder: Path, value: Any, before: str = "") -> Path:
    path = folder / "given"
    path.write_text(before + json.dumps(value))
    return path


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("value", "reader"),
    [
        ({"schemaVersion": 1, "otherData": LONG, "traceEvents": [OPERATOR]}, "kineto"),
        ({"otherData": [1] * 50_000, "traceEvents": [OPERATOR]}, "kineto"),
        ({"a": {str(i): {"ranks": [i]} for i in range(9_000)}, "traceEvents": [OPERATOR]}, "kineto"),
        ({"otherData": LONG, "traceEvents": [UNKNOWN]}, "chrome-trace"),
        ([{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": LONG}}, OPERATOR], "kineto"),
        ([{"args": {"name": LONG}, "ph": "M", "name": "process_name", "pid": 1}, OPERATOR], "kineto"),
        ([{"args": {"name": LONG}, "ph": "M", "name": "process_name", "pid": 1}, DEVICE, TASK], "torch_npu-trace"),
        ([{"args": {"name": LONG}, "ph": "M", "name": "process_name", "pid": 1}, UNKNOWN], "chrome-trace"),
    ],
)
def test_long_texts_before_the_events_do_not_hide_them(tmp_path: Path, value: Any, reader: str, pack: Any) -> None:
    path = write(tmp_path, value)
    path.write_bytes(pack(path.read_bytes()))

    assert opened(path) == (reader, 1 if reader != "kineto" else 2)


@pytest.mark.parametrize("value", [{"traceEvents": [OPERATOR]}, [OPERATOR]])
def test_blanks_before_the_events_cost_no_time_and_hide_nothing(tmp_path: Path, value: Any) -> None:
    path = write(tmp_path, value, " " * 70_000)

    assert opened(path)[0] == "kineto"


def test_blanks_alone_are_no_profile(tmp_path: Path) -> None:
    path = tmp_path / "blank"
    path.write_bytes(b" " * 200_000)

    assert read_head(path, LIMIT) == b" " * LIMIT


def test_an_execution_trace_is_known_whatever_comes_first(tmp_path: Path) -> None:
    path = write(tmp_path, {"schema": "1.1.0", "start": LONG, "nodes": [{"id": i, "inputs": []} for i in range(99)]})

    (source,) = discover(path).sources

    assert source.reader.name == "pytorch-execution-trace"


def test_an_object_that_is_no_trace_keeps_its_keys(tmp_path: Path) -> None:
    path = write(tmp_path, {"a": 1, "b": LONG, "c": [1] * 5000})

    assert read_head(path, LIMIT) == b'{"a":1,"b":"","c":[]}'


def test_a_small_first_part_of_a_gzip_file_is_not_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(b"") + gzip.compress(b"[") + gzip.compress(json.dumps(OPERATOR).encode() + b"]"))

    assert opened(path)[0] == "kineto"


@requires_shared
@pytest.mark.parametrize("level", ["level0", "level1"])
def test_the_front_of_a_real_trace_is_what_stands_there(level: str) -> None:
    path = shared_path(
        "data", "torch_npu", "text", level, "rank0_ascend_pt", "ASCEND_PROFILER_OUTPUT", "trace_view.json"
    )

    head = read_head(path, LIMIT)

    assert head == path.read_bytes()[:LIMIT]
    assert re.search(rb'"Fwd thread id"', head)
