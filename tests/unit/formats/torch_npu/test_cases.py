"""Field cases: what a reader can show of them, against their truth blocks."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ascend_sn._native.intervals import union_length
from ascend_sn.derive import derive
from ascend_sn.errors import NotParsedError
from ascend_sn.formats.reader import Candidate, Source
from ascend_sn.formats.torch_npu.run_folder import RAW_READER, READER
from ascend_sn.model.capture import Capture
from tests.shared_data import requires_shared, shared_path
from tests.unit.formats.torch_npu.runs import open_run

pytestmark = requires_shared


def case(name: str) -> Path:
    (folder,) = shared_path("cases").glob(f"{name}_*")
    return folder


def truth(name: str) -> dict[str, Any]:
    text = (case(name) / "expected.md").read_text()
    return dict(json.loads(text.split("```json truth")[1].split("```")[0]))


def run_of(name: str, pattern: str = "*_ascend_pt") -> Capture:
    (folder,) = case(name).glob(pattern)
    return open_run(folder)


def rows(capture: Capture, table: str, **wanted: Any) -> list[dict[str, Any]]:
    found = capture.rows(table).to_dicts()
    return [row for row in found if all(row[key] == value for key, value in wanted.items())]


def length_us(found: list[dict[str, Any]]) -> float:
    return union_length([row["ts_ns"] for row in found], [row["ts_ns"] + row["dur_ns"] for row in found]) / 1000


def coverage(capture: Capture, table: str, column: str | None = None) -> Any:
    (entry,) = (e for e in capture.coverage if (e.table_name, e.column_name) == (table, column))
    return entry


def test_a_cut_trace_leaves_the_intact_csv_exact() -> None:
    capture, expected = run_of("dv01"), truth("dv01")

    (entry,) = capture.ledger.entries
    assert entry.kind == "truncated"
    assert entry.severity == "damage"
    assert str(expected["ascend_events_recoverable"]) in entry.example
    assert coverage(capture, "operator").state == "damaged"
    assert coverage(capture, "kernel").state == "collected"
    kernels = rows(capture, "kernel")
    assert len(kernels) == 18
    steps = rows(capture, "step")
    assert [step["step"] for step in steps] == expected["steps"]
    for step in steps:
        inside = [row for row in kernels if step["ts_ns"] <= row["ts_ns"] < step["ts_ns"] + step["dur_ns"]]
        compute = [row for row in inside if row["kind"] == "compute"]
        whole = [row for row in inside if row["kind"] == "communication"]
        both = length_us(compute + whole)
        assert length_us(compute) == expected["per_step"]["computing_us"]
        assert length_us(whole) == expected["per_step"]["communication_us"]
        assert length_us(compute) + length_us(whole) - both == expected["per_step"]["overlapped_us"]
    figures = {(row["name"], row["step"]): row["value"] for row in rows(capture, "metric")}
    assert figures["exporter.step_trace.Free", 11] == expected["per_step"]["free_us"] * 1000


def test_memory_that_was_asked_for_and_is_absent_is_missing() -> None:
    capture = run_of("dv02")

    for table in ("memory_event", "memory_sample"):
        entry = coverage(capture, table)
        assert entry.state == "missing"
        assert "requested, but nothing was recorded" in entry.reason
        assert "looked in" in entry.reason
        assert entry.turn_on == ""
        assert rows(capture, table) == []


def test_names_with_bytes_that_are_no_utf8_lose_no_row() -> None:
    capture, expected = run_of("dv03"), truth("dv03")

    compute = rows(capture, "kernel", kind="compute")
    assert len(compute) == expected["ascend_kernels"]
    assert sum(row["dur_ns"] for row in compute) / 1000 == expected["ascend_kernel_sum_us"]
    assert len(rows(capture, "kernel")) == 18
    (entry,) = capture.ledger.entries
    assert (entry.kind, entry.count) == ("invalid_utf8", 1)
    assert "\ufffd" in entry.example


@pytest.mark.parametrize("without", [(), (".db",), (".db", ".json"), (".db", ".csv")])
def test_times_are_exact_whichever_file_they_come_from(tmp_path: Path, without: tuple[str, ...]) -> None:
    expected = truth("dv08")
    (source,) = case("dv08").glob("*_ascend_pt")
    folder = tmp_path / source.name
    output = folder / "ASCEND_PROFILER_OUTPUT"
    shutil.copytree(source, folder)
    for path in sorted(output.iterdir()):
        if path.suffix in without:
            path.unlink()

    capture = open_run(folder)
    derive(capture)

    kernels = rows(capture, "kernel")
    assert len(kernels) == expected["kernels"]
    stream2 = sorted((row["ts_ns"], row["dur_ns"]) for row in kernels if row["stream"] == "2")
    assert len(stream2) == expected["stream2"]["kernels"]
    gaps = {after[0] - before[0] - before[1] for before, after in pairwise(stream2)}
    assert gaps == {round(expected["stream2"]["gap_each_us"] * 1000)}
    assert sum(dur for _, dur in stream2) / 1000 == expected["stream2"]["sum_us"]
    stream3 = [row["dur_ns"] for row in kernels if row["stream"] == "3"]
    assert sum(stream3) / 1000 == expected["stream3"]["sum_us"]
    assert length_us(kernels) == expected["computing_union_us"]
    if ".json" not in without:
        linked = [row["operator_id"] for row in kernels]
        assert len(set(linked)) == expected["distinct_flow_ids"]
        assert None not in linked
    assert not capture.ledger.entries


def test_a_run_without_step_marks_has_no_steps_and_null_step_figures() -> None:
    capture, expected = run_of("dv11"), truth("dv11")["whole_window"]

    assert rows(capture, "step") == []
    assert {row["step"] for row in rows(capture, "metric")} == {None}
    compute, whole = rows(capture, "kernel", kind="compute"), rows(capture, "kernel", kind="communication")
    assert length_us(compute) == expected["computing_us"]
    assert length_us(whole) == expected["comm_us"]
    assert length_us(compute) + length_us(whole) - length_us(compute + whole) == expected["overlapped_us"]


def test_launches_without_device_records_are_missing_device_data() -> None:
    capture, expected = run_of("dv12"), truth("dv12")

    entry = coverage(capture, "kernel")
    assert entry.state == "missing"
    assert f"{expected['launch_calls']} launches on the host, 0 device records" in entry.reason
    assert "graph mode" in entry.reason
    assert len(rows(capture, "operator")) + len(rows(capture, "step")) == expected["host_ops"]
    assert capture.header.device_kind == "npu"


def test_raw_data_is_refused_with_the_command_that_parses_it() -> None:
    (folder,) = case("dv13").glob("*_ascend_pt")
    candidate = Candidate(folder)

    assert not READER.claims(candidate)
    assert RAW_READER.claims(candidate)
    with pytest.raises(NotParsedError, match="not yet parsed") as caught:
        RAW_READER.read(Source(RAW_READER, folder, folder))
    assert f'analyse("{folder}")' in str(caught.value)


def test_communication_by_primitive_and_fused_kernels_apart() -> None:
    capture, expected = run_of("dv14"), truth("dv14")

    whole = rows(capture, "kernel", kind="communication")
    assert sum(row["dur_ns"] for row in whole) / 1000 == expected["ascend_comm_us"]
    ops = [row["op"] for row in rows(capture, "collective")]
    assert sorted(ops) == ["allgather", "allreduce", "alltoallv", "broadcast", "reducescatter", "send"]
    assert len(ops) == expected["ascend_comm_ops"]
    (fused,) = rows(capture, "kernel", kind="fused")
    assert fused["dur_ns"] / 1000 == expected["ascend_fused_comm_compute_us"]
    (compute,) = rows(capture, "kernel", kind="compute")
    assert compute["dur_ns"] / 1000 == expected["ascend_compute_only_us"]
    assert {row["size_bytes"] for row in rows(capture, "collective")} == {64_000_000}


@pytest.mark.parametrize("rank", range(4))
def test_recorded_waiting_of_each_rank(rank: int) -> None:
    expected = truth("dv15")["per_step"][str(rank)]
    capture = run_of("dv15", f"*_4100{rank}_*")

    assert capture.header.rank == rank
    collectives = rows(capture, "collective")
    assert len(collectives) == 5
    for row in collectives:
        assert row["dur_ns"] / 1000 == expected["comm_elapsed_us"]
        assert row["wait_ns"] / 1000 == expected["comm_wait_us"]
        assert row["transit_ns"] / 1000 == expected["transit_us"]
    compute = rows(capture, "kernel", kind="compute")
    assert sum(row["dur_ns"] for row in compute) / 1000 == 5 * expected["compute_us"]


def test_the_core_of_a_fallback_kernel_is_kept() -> None:
    capture, expected = run_of("dv16"), truth("dv16")

    kernels = rows(capture, "kernel")
    of_cpu = sum(row["dur_ns"] for row in kernels if row["core_type"] == "AI_CPU")
    assert of_cpu / 1000 == 3 * expected["ai_cpu_us_per_step"]
    assert of_cpu / sum(row["dur_ns"] for row in kernels) == pytest.approx(
        expected["ai_cpu_share_of_kernel_time"], abs=1e-4
    )
    host_only = rows(capture, "operator", name=expected["host_only_op"])
    assert sum(row["dur_ns"] for row in host_only) / 1000 == 3 * expected["host_only_us_per_step"]
    linked = {row["operator_id"] for row in kernels}
    assert not linked & {row["operator_id"] for row in host_only}


@pytest.mark.parametrize("dialect", ["a_level1", "b_shuffled", "c_bom"])
def test_dialects_of_kernel_details_give_the_same_totals(dialect: str) -> None:
    capture, expected = run_of("dv17", f"{dialect}_ascend_pt"), truth("dv17")

    compute = rows(capture, "kernel", kind="compute")
    assert len(compute) == expected["compute_kernels"]
    assert len(rows(capture, "kernel", kind="communication")) == expected["comm_rows"]
    assert sum(row["dur_ns"] for row in compute) / 1000 == expected["compute_sum_us"]
    totals: Counter[str] = Counter()
    for row in compute:
        totals[row["op_type"]] += row["dur_ns"]
    assert totals.most_common(1) == [(expected["top_type"], expected["top_type_us"] * 1000)]
    assert {row["input_shapes"] for row in compute} == {"32,1024;1024,1024"}
    if dialect == "b_shuffled":
        assert coverage(capture, "kernel_metric").state == "missing"
    assert not capture.ledger.entries
