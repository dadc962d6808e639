"""Real traces of CUDA, ROCm and the processor, against a plain second reading of the same files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ascend_sn.derive import derive
from ascend_sn.formats.kineto.reader import READER
from ascend_sn.formats.reader import Candidate
from tests.shared_data import requires_shared, shared_path
from tests.unit.formats.kineto.traces import captured, raw_slices, read_slices, rows, state

pytestmark = requires_shared

KINETO = shared_path("data", "kineto")
AMD = KINETO / "amd_trace" / "mi250_minitoy_train_ROCm6_2_kineto.json.gz"
CPU = KINETO / "cpu_only" / "rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz"
SYNC = KINETO / "critical_path" / "cuda_event_sync" / "event_sync_trace.json.gz"
STREAMS = KINETO / "critical_path" / "cuda_event_sync_multi_stream" / "event_sync_trace.json.gz"
ALEXNET = KINETO / "critical_path" / "simple_add" / "benchmark_result_493459_1694039959_trace.json.gz"
NCCL = KINETO / "nccl_parser_config" / "nccl_data.json.gz"


@pytest.mark.parametrize("path", [AMD, CPU, SYNC, STREAMS, ALEXNET, NCCL], ids=lambda path: path.parent.name)
def test_every_slice_arrives_once_with_its_exact_time(path: Path) -> None:
    assert READER.claims(Candidate(path))

    found = read_slices(captured(path))

    assert found == raw_slices(path)


def test_rocm_header_times_and_links() -> None:
    capture = captured(AMD)

    assert capture.header.device_kind == "rocm"
    assert (capture.header.device_id, capture.header.device_name) == (2, "AMD Radeon Graphics")
    assert capture.header.rank is None
    # baseTimeNanoseconds 1735632360000000000 + 4203669603454.206 us
    first_copy = rows(capture, "kernel", "name", "ts_ns", "copy_direction", "size_bytes", "device_id")[0]
    assert first_copy == ("Memcpy HtoD (Host -> Device)", 1739836029603454206, "h2d", 2560, 2)
    assert capture.rows("kernel").valid("host_call_id").all()
    assert set(rows(capture, "host_call", "level")) == {("hip",)}


def test_rocm_kernels_reach_operators_by_the_external_id_of_the_same_trace() -> None:
    capture = captured(AMD)
    derive(capture)

    kernels = capture.rows("kernel").to_dicts()
    operators = capture.rows("operator").text("name").decode()

    assert len(kernels) == 16
    # Backward of the bias: external id 534 is aten::sum in the raw file.
    (reduction,) = (one for one in kernels if "reduce_kernel<128, 4" in one["name"])
    assert operators[reduction["operator_id"]] == "aten::sum"


def test_nccl_collectives_state_size_group_and_number() -> None:
    capture = captured(NCCL)
    derive(capture)

    found = rows(capture, "collective", "op", "group_id", "dtype", "size_bytes")

    assert len(found) == 21
    assert {op for op, *_ in found} == {"allreduce", "broadcast"}
    assert sum(op == "allreduce" for op, *_ in found) == 15
    # 2 049 000 elements of Float, 53 of Long, in the raw file.
    assert ("allreduce", "0", "Float", 8_196_000) in found
    assert ("broadcast", "0", "Long", 424) in found
    assert sorted(number for (number,) in rows(capture, "collective", "sequence")) == list(range(21))
    assert rows(capture, "comm_group_member", "group_id", "kind", "group_rank", "group_size", "member_rank") == [
        ("0", "default", 0, 2, 0),
        ("0", "default", 1, 2, 1),
    ]
    kinds = capture.rows("kernel").text("kind").decode()
    assert [kinds.count(kind) for kind in ("compute", "communication", "copy", "other")] == [2679, 21, 960, 114]


def test_nccl_trace_is_fully_linked() -> None:
    capture = captured(NCCL)
    derive(capture)

    kernels = capture.rows("kernel")

    assert len(kernels) == 3774
    assert int(np.count_nonzero(kernels.valid("host_call_id"))) == 3774
    assert capture.rows("step").values("step").tolist() == [4, 5, 6]
    assert len(capture.rows("flow")) == 543
    assert capture.header.rank == 0
    assert capture.header.world_size == 2
    assert capture.header.versions["nccl_version"] == "2.17.1"


def test_waits_point_to_the_call_that_recorded_their_event() -> None:
    capture = captured(STREAMS)

    events = [row for row in rows(capture, "flow", "kind", "src_id", "dst_id") if row[0] == "event"]
    calls = rows(capture, "host_call", "name", "connection")
    kernels = rows(capture, "kernel", "name", "kind")

    assert len(events) == 3
    assert {calls[src][0] for _, src, _ in events} == {"cudaEventRecord"}
    assert {kernels[dst] for _, _, dst in events} <= {("Stream Wait Event", "sync"), ("Event Sync", "sync")}


def test_a_synchronisation_of_the_device_has_no_stream() -> None:
    capture = captured(SYNC)

    syncs = [row for row in rows(capture, "kernel", "name", "stream", "kind") if row[2] == "sync"]

    assert ("Event Sync", None, "sync") in syncs
    assert ("Stream Sync", "7", "sync") in syncs


def test_a_capture_of_the_processor_has_kernels_and_collectives() -> None:
    capture = captured(CPU)

    assert capture.header.device_kind == "cpu"
    assert (capture.header.rank, capture.header.world_size) == (34, 300)
    kinds = capture.rows("kernel").text("kind").decode()
    assert (kinds.count("compute"), kinds.count("communication")) == (4, 10)
    # 321271 and 2082411 elements of float; eleven groups, so the calls' own is not known.
    assert set(rows(capture, "collective", "op", "size_bytes", "group_id")) == {
        ("allreduce", 1_285_084, None),
        ("allreduce", 8_329_644, None),
    }
    assert len(capture.rows("comm_group_member")) == 11 * 300
    assert state(capture, "host_call") == "unsupported"


def test_occupancy_is_a_ratio() -> None:
    values = captured(ALEXNET).rows("kernel_metric").values("value")

    assert len(values) == 79
    assert values.min() >= 0
    assert values.max() <= 1
