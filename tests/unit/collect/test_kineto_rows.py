"""An export of torch.profiler as rows of the trace: each counted by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.collect.backends.kineto_rows import CLOCK_MARK, WindowRows, read_window
from ascend_sn.collect.config import ProfilerConfig
from ascend_sn.collect.names import NameTable
from ascend_sn.model.trace_schema import FLOW_END, FLOW_START, KERNEL, MEMORY, MEMORY_TOTAL, NOT_GIVEN, OPERATOR

BASE_NS = 1_700_000_000_000_000_000


def slice_of(name: str, ts: float, dur: float, category: str = "cpu_op", **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 7, "ts": ts, "dur": dur, "args": args}


def op(name: str, ts: float, number: int, dims: list[Any]) -> dict[str, Any]:
    said: dict[str, Any] = {"External id": number, "Input Dims": dims, "Ev Idx": number}
    return slice_of(name, ts, 2.5, **said)


def arrow(phase: str, ts: float) -> dict[str, Any]:
    return {"ph": phase, "id": 5, "pid": 1, "tid": 7, "ts": ts, "cat": "fwdbwd", "name": "fwdbwd"}


EVENTS = [
    {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 1.0, "args": {"name": "python"}},
    op("aten::mm", 10.0, 1, [[2, 3], [3, 4]]),
    op("aten::mm", 20.0, 2, [[2, 3], [3, 4]]),
    op("aten::mm", 30.0, 3, [[5, 3], [3, 4]]),
    slice_of(CLOCK_MARK, 40.0, 4.0, "user_annotation", **{"External id": 4}),
    arrow("s", 20.0),
    arrow("f", 50.0),
    slice_of("mm_kernel", 60.0, 1.0, "kernel", **{"correlation": 9, "bytes": 64, "device": 0, "stream": 3}),
    {
        "ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 7, "ts": 70.0, "s": "t",
        "args": {"Bytes": -512, "Addr": 4096, "Total Allocated": 100, "Total Reserved": 200, "Device Type": 0},
    },
]  # fmt: skip


def window_of(tmp_path: Path, names: NameTable, **settings: Any) -> WindowRows:
    path = tmp_path / "window.json"
    path.write_text(json.dumps({"baseTimeNanoseconds": BASE_NS, "traceEvents": EVENTS}))
    return read_window(str(path), names, ProfilerConfig(**settings))


def rows_of(window: WindowRows) -> list[tuple[int, ...]]:
    return [row for part in window.parts for row in zip(*(column.tolist() for column in part), strict=True)]


def test_every_event_becomes_its_row(tmp_path: Path) -> None:
    names = NameTable()

    window = window_of(tmp_path, names, enable_memory=True)

    found = rows_of(window)
    assert [(row[0], row[3] - BASE_NS, row[4], row[5], row[6]) for row in found] == [
        (OPERATOR, 10_000, 2_500, 1, NOT_GIVEN),
        (OPERATOR, 20_000, 2_500, 2, NOT_GIVEN),
        (OPERATOR, 30_000, 2_500, 3, NOT_GIVEN),
        (FLOW_START, 20_000, 0, 5, NOT_GIVEN),
        (FLOW_END, 50_000, 0, 5, NOT_GIVEN),
        (KERNEL, 60_000, 1_000, 9, 64),
        (MEMORY, 70_000, 0, -512, 4096),
        (MEMORY_TOTAL, 70_000, 0, 100, 200),
    ]
    assert {row[1] for row in found} == {7}
    assert window.marks == [BASE_NS + 42_000]


def test_a_name_is_numbered_once_for_the_same_arguments(tmp_path: Path) -> None:
    names = NameTable()

    first, same, other = (row[2] for row in rows_of(window_of(tmp_path, names))[:3])

    assert first == same != other
    dims = [key[2] for key, number in names._described.items() if number in (first, other)]
    assert dims == [(("Input Dims", "[[2, 3], [3, 4]]"),), (("Input Dims", "[[5, 3], [3, 4]]"),)]


def test_without_memory_there_are_no_rows_of_it(tmp_path: Path) -> None:
    assert {row[0] for row in rows_of(window_of(tmp_path, NameTable()))} == {OPERATOR, FLOW_START, FLOW_END, KERNEL}


@pytest.mark.parametrize(("chosen", "count"), [("MatMul", 3), ("Softmax", 0)])
def test_operators_that_were_not_chosen_are_left_out(tmp_path: Path, chosen: str, count: int) -> None:
    window = window_of(tmp_path, NameTable(), trace_ops=[chosen])

    assert [row[0] for row in rows_of(window)].count(OPERATOR) == count
    assert window.unmatched == ([] if count else [chosen])
