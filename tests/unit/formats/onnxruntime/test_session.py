"""Profiles of ONNX Runtime sessions, written as version 1.32 writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ascend_sn.errors import AscendSnError, EmptyInputError
from ascend_sn.formats.chrome.reader import READER as CHROME
from ascend_sn.formats.kineto.reader import READER as KINETO
from ascend_sn.formats.onnxruntime import READER, read
from ascend_sn.formats.reader import Candidate, Source
from ascend_sn.model.capture import Capture


def session(name: str, ts: int, dur: int) -> dict[str, Any]:
    return {"cat": "Session", "pid": 7, "tid": 9, "dur": dur, "ts": ts, "ph": "X", "name": name, "args": {}}


def node(name: str, op: str, ts: int, dur: int, provider: str = "CPUExecutionProvider") -> dict[str, Any]:
    args = {
        "op_name": op,
        "provider": provider,
        "node_index": "0",
        "input_type_shape": [{"float": [4, 64]}, {"int64": [64]}],
        "output_type_shape": [{"float": [4, 32]}],
        "activation_size": "1024",
        "parameter_size": "128",
        "output_size": "512",
        "thread_scheduling_stats": {"main_thread": {"block_size": [], "core": -1}},
    }
    return {**session(f"{name}_kernel_time", ts, dur), "cat": "Node", "args": args}


def write(folder: Path, *events: dict[str, Any], end: str = "\n]\n") -> Path:
    path = folder / "prof_2026-01-01_10-00-00.json"
    path.write_text("[\n" + ",\n".join(json.dumps(event) for event in events) + end)
    return path


def captured(path: Path) -> Capture:
    (capture,) = read(Source(READER, path, path))
    return capture


def rows(capture: Capture, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in capture.rows(table).to_dicts()]


def test_runs_are_steps_and_nodes_are_operators_and_kernels(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        session("session_initialization", 0, 40),
        node("mm1", "MatMul", 52, 20),
        node("", "Add", 73, 5),
        session("model_run", 50, 30),
        node("mm1", "MatMul", 102, 10),
        session("model_run", 100, 20),
    )

    capture = captured(path)

    assert READER.claims(Candidate(path))
    assert not KINETO.claims(Candidate(path))
    assert rows(capture, "step", "step_id", "step", "ts_ns", "dur_ns") == [
        (0, 0, 50_000, 30_000),
        (1, 1, 100_000, 20_000),
    ]
    assert rows(capture, "operator", "name", "module", "ts_ns", "input_bytes", "output_bytes") == [
        ("MatMul", "mm1", 52_000, 1152, 512),
        ("Add", None, 73_000, 1152, 512),
        ("MatMul", "mm1", 102_000, 1152, 512),
    ]
    assert rows(capture, "operator", "input_shapes", "input_dtypes", "output_shapes", "output_dtypes")[0] == (
        "4,64;64",
        "float;int64",
        "4,32",
        "float",
    )
    assert rows(capture, "kernel", "name", "op_type", "kind", "core_type", "operator_id") == [
        ("mm1", "MatMul", "compute", "CPUExecutionProvider", 0),
        ("_kernel_time", "Add", "compute", "CPUExecutionProvider", 1),
        ("mm1", "MatMul", "compute", "CPUExecutionProvider", 2),
    ]
    assert rows(capture, "span", "name", "domain") == [
        ("session_initialization", "session"),
        ("model_run", "request"),
        ("model_run", "request"),
    ]
    assert (capture.header.device_kind, capture.header.pid) == ("cpu", 7)
    assert [entry.kind for entry in capture.ledger.entries] == ["relative_clock"]


def test_control_flow_is_no_kernel_beside_its_body(tmp_path: Path) -> None:
    path = write(tmp_path, node("body", "Add", 12, 5), node("if", "If", 10, 20), node("touching", "Relu", 30, 0))

    assert rows(captured(path), "kernel", "op_type") == [("Add",), ("Relu",)]


def test_nodes_of_an_accelerator_are_host_times(tmp_path: Path) -> None:
    path = write(tmp_path, node("mm", "MatMul", 0, 5, "CUDAExecutionProvider"))

    capture = captured(path)

    assert capture.header.device_kind == "cuda"
    assert len(capture.rows("kernel")) == 0
    assert [entry.state for entry in capture.coverage if entry.table_name == "kernel"] == ["unsupported"]


def test_recorded_kernels_are_the_devices(tmp_path: Path) -> None:
    gpu = {**session("gemm_kernel", 10, 8), "cat": "Kernel", "tid": 1}
    path = write(tmp_path, node("mm", "MatMul", 0, 5, "CANNExecutionProvider"), gpu)

    capture = captured(path)

    assert capture.header.device_kind == "npu"
    assert rows(capture, "kernel", "name", "ts_ns", "dur_ns", "kind") == [("gemm_kernel", 10_000, 8000, "compute")]


def test_copies_state_their_direction(tmp_path: Path) -> None:
    path = write(tmp_path, node("c", "MemcpyFromHost", 0, 5), node("d", "MemcpyToHost", 9, 5))

    assert rows(captured(path), "kernel", "kind", "copy_direction") == [("copy", "h2d"), ("copy", "d2h")]


def test_fences_are_ranges(tmp_path: Path) -> None:
    fence = {**node("mm", "MatMul", 0, 5), "name": "mm_fence_before"}

    capture = captured(write(tmp_path, fence, node("mm", "MatMul", 6, 5)))

    assert rows(capture, "span", "name", "domain") == [("mm_fence_before", "fence")]
    assert len(capture.rows("kernel")) == 1


def test_a_killed_session_leaves_a_readable_file(tmp_path: Path) -> None:
    path = write(tmp_path, session("session_initialization", 0, 4), node("mm", "MatMul", 6, 5), end=",\n")

    assert len(captured(path).rows("kernel")) == 1


def test_empty_and_renamed_files(tmp_path: Path) -> None:
    empty = tmp_path / "empty.json"
    empty.write_text("[\n]")
    renamed = write(tmp_path, node("mm", "MatMul", 6, 5)).rename(tmp_path / "x.bin")

    with pytest.raises(EmptyInputError):
        captured(empty)
    assert READER.claims(Candidate(renamed))
    assert CHROME.claims(Candidate(renamed))


@given(st.binary(max_size=200))
def test_random_bytes_raise_only_our_errors(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("random") / "prof.json"
    path.write_bytes(data)

    READER.claims(Candidate(path))
    with pytest.raises(AscendSnError):
        captured(path)
