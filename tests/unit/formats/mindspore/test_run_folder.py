"""Run folders drawn after MindSpore's documentation and its writing code; no file of a real run was at hand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from ascend_sn.derive import derive
from ascend_sn.errors import EmptyInputError, FormatError, NotParsedError
from ascend_sn.formats.discover import discover
from ascend_sn.formats.mindspore.run_folder import RAW_READER, READER, without_stack
from ascend_sn.formats.reader import Candidate, Source
from ascend_sn.formats.torch_npu import run_folder as torch_npu
from ascend_sn.model.capture import Capture
from tests.shared_data import requires_shared, shared_path
from tests.unit.formats.torch_npu.databases import NONE, Strings, database_path, write_database
from tests.unit.formats.torch_npu.runs import START_US, kernel_csv, write_csv, write_info, write_json
from tests.unit.formats.torch_npu.traces import CANN, DEVICE, arrow, call, name, slice_, task

NAME = "node-a_41000_20251009081320123_ascend_ms"
KERNEL = {
    **{"Step Id": "0", "Name": "MatMul", "Type": "MatMul", "Accelerator Core": "AI_CORE"},
    **{"Start Time(us)": f"{START_US + 10}.000\t", "Duration(us)": "10"},
}
SUMMARY: dict[str, Any] = {
    "op_ids": [0, 1],
    "op_names": ["DeviceQueue", "Batch"],
    "pipeline_ops": ["DeviceQueue(id=0)", "Batch(id=1)"],
    "num_workers": [1, 8],
    "queue_average_size": [-1, 2.5],
    "queue_utilization_pct": [-1, 31.25],
    "queue_empty_freq_pct": [-1, 60],
    "children_ids": [[1], []],
    "avg_cpu_pct": [3, 90.5],
    "per_pipeline_time": [1.25],
    "per_push_queue_time": [0.5],
    "per_batch_time": [-1],
    "bottleneck_warning": ["", "Batch(id=1)"],
}


def open_run(folder: Path) -> Capture:
    assert READER.claims(Candidate(folder))
    (capture,) = READER.read(Source(READER, folder, folder))
    return capture


def metrics(capture: Capture) -> dict[str | None, float]:
    return {row["name"]: row["value"] for row in capture.rows("metric").to_dicts()}


def test_a_run_is_known_by_its_name(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    write_info(folder, rank=3)
    kernel_csv(folder, [KERNEL])

    capture = open_run(folder)

    assert not torch_npu.READER.claims(Candidate(folder))
    assert [source.reader.name for source in discover(tmp_path).sources] == ["mindspore"]
    header = capture.header
    assert (header.format, header.rank, header.host, header.pid) == ("mindspore-text", 3, "node-a", 41000)


@pytest.mark.parametrize("own", ["dataset.csv", "minddata_pipeline_summary_0.json", "minddata_pipeline_raw_0.csv"])
def test_a_renamed_run_is_known_by_files_that_only_mindspore_writes(tmp_path: Path, own: str) -> None:
    folder = tmp_path / "renamed"
    write_info(folder)
    kernel_csv(folder, [KERNEL])
    (folder / "ASCEND_PROFILER_OUTPUT" / own).write_text("")

    assert len(open_run(folder).rows("kernel")) == 1


def test_other_folders_are_not_claimed(tmp_path: Path) -> None:
    (tmp_path / "dataset.csv").write_text("a,b\n")
    torch = tmp_path / "h_1_20251009081320123_ascend_pt"
    write_info(torch)
    kernel_csv(torch, [KERNEL])

    for path in (tmp_path, tmp_path / "dataset.csv", torch, torch / "ASCEND_PROFILER_OUTPUT"):
        assert not READER.claims(Candidate(path))
        assert not RAW_READER.claims(Candidate(path))


def test_raw_data_is_refused_with_the_call_that_parses_it(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    write_info(folder)
    (folder / "FRAMEWORK").mkdir()
    (folder / "PROF_000001_20251009081320123_ABC").mkdir()

    assert [source.reader for source in discover(tmp_path).sources] == [RAW_READER]
    with pytest.raises(NotParsedError, match="analyse"):
        RAW_READER.read(Source(RAW_READER, folder, folder))


def test_framework_slices_have_no_category_and_are_operators(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    write_info(folder)
    framework = 1
    launch = slice_("KernelLaunch_MatMul", framework, 7, 1_000, 3_000)
    events = [
        *name(framework, "MindSpore"),
        *name(CANN, "CANN"),
        *name(DEVICE, "Ascend Hardware"),
        slice_("ProfilerStep#0", framework, 7, 0, 50_000),
        launch,
        call("Node@launch", 2_000, 1_000, 7, tid=7, level="node"),
        task("MatMul", 10_000, 10_000, 7),
        *arrow("async_npu", f"{START_US + 10}.000", (framework, 7, 1_000), (DEVICE, 2, 10_000)),
    ]
    write_json(folder, "trace_view.json", events)
    kernel_csv(folder, [KERNEL])

    capture = open_run(folder)
    derive(capture)

    (operator,) = capture.rows("operator").to_dicts()
    assert operator["name"] == "KernelLaunch_MatMul"
    assert [(row["step"], row["origin"]) for row in capture.rows("step").to_dicts()] == [(0, "mark")]
    (kernel,) = capture.rows("kernel").to_dicts()
    assert (kernel["operator_id"], kernel["step_id"], kernel["device_id"]) == (0, 0, 3)
    assert not len(capture.rows("span"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Default/network/conv1-Conv2d/Conv2D-op0", "Default/network/conv1-Conv2d/Conv2D-op0"),
        ("MatMul-op1 /home/u/net.py(12): construct;/home/u/train.py(3)", "MatMul-op1"),
        ("MatMul-op1;/home/u/net.py(12)", "MatMul-op1"),
        ("Default/Add-op2\nnet.py(1)", "Default/Add-op2"),
        ("/home/u/net.py(12)", "/home/u/net.py(12)"),
    ],
)
def test_the_stack_behind_a_kernels_name_is_cut(name: str, expected: str) -> None:
    assert without_stack(name) == expected


def test_kernels_of_one_name_are_one_whatever_called_them(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    write_info(folder, with_stack=True)
    kernel_csv(folder, [KERNEL | {"Name": f"MatMul-op1 /home/u/net.py({line})"} for line in (1, 2)])

    assert open_run(folder).rows("kernel").text("name").decode() == ["MatMul-op1", "MatMul-op1"]


@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_the_summary_of_the_input_pipeline_becomes_metrics(tmp_path: Path, suffix: str) -> None:
    folder = tmp_path / NAME
    write_info(folder, data_process=True)
    kernel_csv(folder, [KERNEL])
    path = folder / "ASCEND_PROFILER_OUTPUT" / f"minddata_pipeline_summary_0.{suffix}"
    lines = [",".join([key, *(f'"{value}"' for value in values)]) for key, values in SUMMARY.items()]
    path.write_text(json.dumps(SUMMARY) if suffix == "json" else "\n".join(lines) + "\n")

    capture = open_run(folder)

    assert metrics(capture) == {
        "minddata.DeviceQueue(id=0).workers": 1.0,
        "minddata.Batch(id=1).workers": 8.0,
        "minddata.Batch(id=1).queue_average_size": 2.5,
        "minddata.Batch(id=1).queue_utilization_ratio": 0.3125,
        "minddata.Batch(id=1).queue_empty_ratio": pytest.approx(0.6),
        "minddata.DeviceQueue(id=0).cpu_ratio": 0.03,
        "minddata.Batch(id=1).cpu_ratio": 0.905,
        "minddata.per_pipeline_time": 1_250_000.0,
        "minddata.per_push_queue_time": 500_000.0,
    }
    assert capture.header.config["input_pipeline"] == {"bottleneck_warning": "Batch(id=1)"}
    assert ("metric", "collected") in {(entry.table_name, entry.state) for entry in capture.coverage}


def test_operations_of_the_data_set_become_metrics(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    write_info(folder)
    kernel_csv(folder, [KERNEL])
    header = ["Operation", "Stage", "Occurrences", "Avg. time(us)", "Custom Info"]
    write_csv(
        folder, "dataset.csv", header, [["Batch", "WorkerProcess", "4", "12.5", "-"], ["Map", "Push", "N/A", "1", ""]]
    )

    assert metrics(open_run(folder)) == {
        "dataset.Batch.WorkerProcess.mean": 12_500.0,
        "dataset.Batch.WorkerProcess.count": 4.0,
        "dataset.Map.Push.mean": 1_000.0,
    }


def test_the_database_is_read_with_its_analysis(tmp_path: Path) -> None:
    folder = tmp_path / "renamed"
    write_info(folder, rank=1)
    text = Strings()
    task_row = {"startNs": 5, "endNs": 9, "deviceId": 1, "connectionId": NONE, "globalTaskId": 0}
    write_database(
        database_path(folder, "ascend_mindspore_profiler_1.db"),
        text,
        TASK=[task_row | {"taskType": text("AI_CORE"), "streamId": 2}],
        COMPUTE_TASK_INFO=[{"name": text("Add-op1 /u/net.py(3)"), "globalTaskId": 0, "opType": text("Add")}],
        STEP_TIME=[{"id": 0, "startNs": 0, "endNs": 20}],
    )
    trace = {"step": "0", "computing": 4.0, "free": 16.0}
    write_database(database_path(folder, "communication_analyzer.db"), Strings(), StepTraceTime=[trace])

    capture = open_run(folder)

    assert (capture.header.format, capture.header.rank) == ("mindspore-db", 1)
    assert capture.rows("kernel").text("name").decode() == ["Add-op1"]
    assert capture.rows("step").values("step").tolist() == [0]
    assert metrics(capture) == {"exporter.step_trace.Computing": 4_000.0, "exporter.step_trace.Free": 16_000.0}
    assert "communication_analyzer.db" in [path.name for path in READER.members(folder)]


def test_what_is_absent_is_told_in_the_words_of_mindspore(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    write_info(folder, profile_memory=False, data_process=False)
    kernel_csv(folder, [KERNEL])

    told = {entry.table_name: entry for entry in open_run(folder).coverage if entry.column_name is None}

    assert (told["memory_event"].state, told["memory_event"].turn_on) == (
        "not_requested",
        "mindspore.profiler.profile(profile_memory=True)",
    )
    assert (told["metric"].state, told["metric"].turn_on) == (
        "not_requested",
        "mindspore.profiler.profile(data_process=True)",
    )
    assert "torch_npu" not in " ".join(entry.turn_on for entry in told.values())


def test_empty_and_cut_files(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    write_info(folder)
    path = kernel_csv(folder, [KERNEL, KERNEL])
    whole = path.read_bytes()

    path.write_bytes(whole[:-30])
    assert len(open_run(folder).rows("kernel")) == 1

    path.write_bytes(b"")
    with pytest.raises(FormatError):
        open_run(folder)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_bytes_raise_nothing_but_format_errors(tmp_path: Path, data: st.DataObject) -> None:
    folder = tmp_path / NAME
    shutil.rmtree(folder, ignore_errors=True)
    write_info(folder)
    output = folder / "ASCEND_PROFILER_OUTPUT"
    paths = [kernel_csv(folder, [KERNEL]), write_json(folder, "minddata_pipeline_summary_0.json", SUMMARY)]
    paths += [output / name for name in ("dataset.csv", "minddata_pipeline_summary_0.csv")]
    paths += [output / name for name in ("ascend_mindspore_profiler_0.db", "communication_analyzer.db")]
    for path in data.draw(st.lists(st.sampled_from(paths), min_size=1, max_size=4)):
        front = data.draw(st.sampled_from([b"", b"SQLite format 3\0", b'{"op_names": ', b"Operation,Stage\n"]))
        path.write_bytes(front + data.draw(st.binary(min_size=1, max_size=200)))
    if data.draw(st.booleans()):
        (output / "minddata_pipeline_summary_0.json").unlink()

    try:
        for capture in READER.read(Source(READER, folder, folder)):
            derive(capture)
    except (FormatError, EmptyInputError):
        pass


@requires_shared
@pytest.mark.parametrize("rank", [0, 1])
def test_the_same_files_give_the_same_rows_as_those_of_torch_npu(tmp_path: Path, rank: int) -> None:
    sample = shared_path("data", "torch_npu", "text", "level1", f"rank{rank}_ascend_pt")
    folder = tmp_path / NAME
    shutil.copytree(sample, folder)

    capture = open_run(folder)

    (expected,) = torch_npu.READER.read(Source(torch_npu.READER, sample, sample))
    assert len(capture.rows("kernel").text("kind").matches(["compute"]).nonzero()[0]) == 187
    for table in ("kernel", "collective", "comm_task", "link", "step", "operator", "host_call", "memory_sample"):
        assert capture.rows(table).to_dicts() == expected.rows(table).to_dicts()
