"""Small sound inputs of every reader, to be damaged in named ways: what each holds is small enough to count.

A reader of this package without an entry here fails the tests.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

__all__ = ["CORPUS", "Seed"]

RUN: Final = "node-a_41000_20251009081320123_ascend_pt"
_MINDSPORE: Final = "node-a_41000_20251009081320123_ascend_ms"


class Seed(msgspec.Struct, frozen=True):
    """The files of a sound input by their path below some folder, and which path of it is opened."""

    files: Mapping[str, bytes]
    opened: str


def seed(write: Callable[[Path], Path]) -> Seed:
    """Return what a writer leaves in a folder; it returns the path to open."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        opened = write(top).relative_to(top).as_posix()
        files = {
            path.relative_to(top).as_posix(): path.read_bytes() for path in sorted(top.rglob("*")) if path.is_file()
        }
    return Seed(files, opened)


def recording(top: Path) -> Path:
    """Write a recording of two sessions, one batch each."""
    from ascend_sn.model.trace_schema import METRIC, STEP
    from tests.unit.formats.train_trace.written import Writing

    trace = Writing(top / "run")
    for session, first in enumerate((0, 100)):
        trace.session(first, first + 90, session)
        for at in range(first, first + 90, 30):
            trace.row(STEP, None, at, 30, value=at // 30)
            trace.span("forward", at + 1, at + 9)
            trace.span("all_reduce", at + 10, at + 14)
        trace.row(METRIC, "loss", first + 5, value=4_607_182_418_800_017_408)
        trace.batch()
    return trace.close()


def torch_npu_text(top: Path) -> Path:
    """Write a run of torch_npu with every text export."""
    from fuzz.seeds import exports

    folder = top / RUN
    for name, content in exports(random.Random(5)).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    _text_exports(folder)
    return folder


def _text_exports(folder: Path) -> None:
    from tests.unit.formats.msprof.profs import comm_info
    from tests.unit.formats.torch_npu.runs import START_US, write_csv, write_json
    from tests.unit.formats.torch_npu.traces import CANN, COMM, DEVICE, PYTHON, arrow, call, group_op, name, op, task

    all_reduce = "hcom_allReduce__210_0_1"
    write_json(
        folder,
        "trace_view.json",
        [
            *name(PYTHON, "Python", t1="Thread 1"),
            *name(CANN, "CANN"),
            *name(DEVICE, "Ascend Hardware", t2="Stream 2"),
            *name(COMM, "Communication"),
            op("aten::mm", 0, 9_000, args={"Input Dims": [[4, 8]], "Input type": ["float"]}),
            op("aten::add", 10_000, 5_000),
            call("AscendCL@launch", 1_000, 2_000, 7),
            task("op_0", 4_000, 5_000, 7),
            group_op(all_reduce, 30_000, 6_000, 9),
            *arrow("async_npu", f"{START_US}.000", (PYTHON, 1, 0), (DEVICE, 2, 4_000)),
        ],
    )
    of_op = {f"{all_reduce}@513616803227540210": comm_info(0.006, 0.004, 0.001, 0.001, 2.0)}
    write_json(folder, "communication.json", {"step1": {"p2p": {}, "collective": of_op}})
    link = {"Transport Type": "HCCS", "Transit Size(MB)": 2.0, "Transit Time(ms)": 4.0, "Op Name": all_reduce}
    of_group = {"allreduce-top1@513616803227540210": {"0-1": link}}
    write_json(folder, "communication_matrix.json", {"step1": {"p2p": {}, "collective": of_group}})
    header = ("Component", "Timestamp(us)", "Total Reserved(MB)", "Device")
    write_csv(folder, "npu_module_mem.csv", header, [("GE", f"{START_US}.5", "2.0", "NPU:0")])


def torch_npu_database(top: Path) -> Path:
    """Write a run of torch_npu with its database."""
    from fuzz.seeds import databases

    folder = top / RUN
    for name, content in databases(random.Random(3)).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def torch_npu_raw(top: Path) -> Path:
    """Write a run of torch_npu that nobody parsed."""
    folder = top / RUN
    for inside in ("FRAMEWORK", "PROF_000001_20251009081320123_ABC"):
        (folder / inside).mkdir(parents=True)
        (folder / inside / "data.bin").write_bytes(b"\x00\x01")
    (folder / "profiler_info_0.json").write_text('{"config": {}, "rank_id": 0}')
    return folder


def mindspore(top: Path) -> Path:
    """Write a run of MindSpore with its own exports and those that it shares with torch_npu."""
    from tests.unit.formats.mindspore.test_run_folder import KERNEL, SUMMARY
    from tests.unit.formats.torch_npu.runs import kernel_csv, write_csv, write_info, write_json

    folder = top / _MINDSPORE
    write_info(folder, rank=3)
    _text_exports(folder)
    kernel_csv(folder, [KERNEL, KERNEL | {"Name": "Add", "Duration(us)": "4"}])
    write_json(folder, "minddata_pipeline_summary_0.json", SUMMARY)
    header = ("Operation", "Stage", "Occurrences", "Avg. time(us)", "Custom Info")
    write_csv(folder, "dataset.csv", header, [("Batch", "WorkerProcess", "4", "12.5", "-")])
    return folder


def mindspore_raw(top: Path) -> Path:
    """Write a run of MindSpore that nobody parsed."""
    return torch_npu_raw(top).rename(top / _MINDSPORE)


def msprof_text(top: Path) -> Path:
    """Write the text exports of msprof."""
    from tests.unit.formats.msprof.profs import NAME, STAMP, START_US, op_summary, write_json
    from tests.unit.formats.torch_npu.traces import CANN, DEVICE, call, name, task

    common = {"Device_id": "0", "Task Type": "AI_CORE", "Stream ID": "2", "Task ID": "5"}
    op_summary(
        top / NAME,
        [
            common | {"Op Name": op, "Task Start Time(us)": f"{START_US + at}.000\t", "Task Duration(us)": "10"}
            for at, op in ((0, "MatMul"), (20, "Add"), (40, "Cast"))
        ],
    )
    events = [*name(CANN, "CANN"), *name(DEVICE, "Ascend Hardware"), call("AscendCL@launch", 0, 1_000, 7)]
    write_json(top / NAME / "mindstudio_profiler_output", f"msprof_{STAMP}.json", [*events, task("MatMul", 0, 9, 7)])
    return top / NAME


def msprof_database(top: Path) -> Path:
    """Write the database of msprof."""
    from tests.unit.formats.msprof.profs import NAME
    from tests.unit.formats.msprof.test_database import draw

    draw(top / NAME)
    return top / NAME


def msprof_raw(top: Path) -> Path:
    """Write what msprof collects."""
    from tests.unit.formats.msprof.profs import NAME

    (top / NAME / "device_0" / "data").mkdir(parents=True)
    (top / NAME / "device_0" / "data" / "aicore.data").write_bytes(b"\x00\x01")
    (top / NAME / "device_0" / "info.json.0").write_text("{}")
    return top / NAME


def cluster_text(top: Path) -> Path:
    """Write a cluster analysis as text."""
    from tests.unit.formats.cluster.outputs import NAME, write_text

    return write_text(top / NAME)


def cluster_database(top: Path) -> Path:
    """Write a cluster analysis as a database."""
    from tests.unit.formats.cluster.outputs import NAME, write_cluster_database

    return write_cluster_database(top / NAME / "cluster_analysis.db").parent


def database_alone(top: Path) -> Path:
    """Write a profiler's database that lost its folder."""
    from tests.unit.formats.msprof.test_database import draw

    return draw(top / "x").rename(top / "renamed.db")


def torch_npu_trace(top: Path) -> Path:
    """Write a trace of torch_npu that lost its folder."""
    _text_exports(top / "x")
    path = (top / "x" / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").rename(top / "exported.json")
    shutil.rmtree(top / "x")
    return path


def kineto(top: Path) -> Path:
    """Write a PyTorch trace."""
    from tests.unit.formats.kineto.traces import annotation, kernel, launch, operator, write

    events = [
        annotation("ProfilerStep#3", 0, 90),
        operator("aten::mm", 1, 20, **{"External id": 1, "Input Dims": [[4, 8]]}),
        launch(11, 5),
        kernel("gemm", 30, 20, correlation=11, **{"External id": 1}),
        operator("aten::add", 40, 5, **{"External id": 2}),
    ]
    return write(top, *events, baseTimeNanoseconds=1_700_000_000_000_000_000, distributedInfo={"rank": 1})


def execution_trace(top: Path) -> Path:
    """Write a PyTorch execution trace."""
    path = top / "trace.json"
    path.write_text('{"schema": "1.0.1", "pid": 1, "nodes": [{"id": 1, "name": "x", "inputs": []}]}')
    return path


def onnxruntime(top: Path) -> Path:
    """Write the profile of an ONNX Runtime session."""
    from tests.unit.formats.onnxruntime.test_session import node, session, write

    return write(top, session("model_run", 50, 30), node("mm", "MatMul", 52, 20), node("a", "Add", 73, 5))


def snapshot(top: Path) -> Path:
    """Write a memory snapshot."""
    from tests.unit.formats.memory.test_snapshot import event, segment, write

    trace = [
        event("alloc", 1, 60, time_us=5),
        event("alloc", 2, 40, time_us=6),
        event("free_completed", 1, 60, time_us=9),
    ]
    return write(top, {"segments": [segment(1024, 140, 140)], "device_traces": [trace, []]})


def memory_timeline(top: Path) -> Path:
    """Write a raw memory timeline."""
    path = top / "memory.raw.json"
    path.write_text(json.dumps([[-1, 1, 100, 0], [50, 2, 40, 7], [60, 3, -40, 7], [60, 3, 40, 4], [70, 4, -40, 4]]))
    return path


def compressed(write: Callable[[Path], Path]) -> Callable[[Path], Path]:
    """Return a writer of the same file, compressed."""

    def written(top: Path) -> Path:
        path = write(top)
        content = gzip.compress(path.read_bytes(), mtime=0)
        path.unlink()
        path.with_name(path.name + ".gz").write_bytes(content)
        return path.with_name(path.name + ".gz")

    return written


def chrome(top: Path) -> Path:
    """Write a trace of an unknown writer."""
    from tests.unit.formats.chrome.test_reader import event, write

    events = [
        event("M", "thread_name", 0, args={"name": "main"}),
        event("X", "whole", 10, dur=5, cat="c"),
        event("B", "outer", 40),
        event("B", "inner", 41, cat="n"),
        event("E", "", 44),
        event("E", "", 50),
        event("C", "heap", 51, args={"bytes": 4096}),
        event("b", "request", 60, cat="net", id="0x1f"),
        event("e", "request", 90, cat="net", id="0x1f"),
    ]
    return write(top, {"traceEvents": events})


CORPUS: Final[Mapping[str, tuple[Callable[[Path], Path], ...]]] = {
    "train.trace": (recording,),
    "mindspore": (mindspore,),
    "mindspore-raw": (mindspore_raw,),
    "torch_npu": (torch_npu_text, torch_npu_database),
    "torch_npu-raw": (torch_npu_raw,),
    "msprof": (msprof_text, msprof_database),
    "msprof-raw": (msprof_raw,),
    "cluster": (cluster_text, cluster_database),
    "ascend-database": (database_alone,),
    "torch_npu-trace": (torch_npu_trace, compressed(torch_npu_trace)),
    "kineto": (kineto, compressed(kineto)),
    "pytorch-execution-trace": (execution_trace,),
    "onnxruntime": (onnxruntime,),
    "memory-snapshot": (snapshot,),
    "memory-timeline": (memory_timeline, compressed(memory_timeline)),
    "chrome-trace": (chrome, compressed(chrome)),
}
"""Writers of sound inputs by the name of the reader that reads them."""
