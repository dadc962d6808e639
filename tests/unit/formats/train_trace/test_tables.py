"""Tables of hand-written traces; 1 column of a drawing = 1 us."""

from __future__ import annotations

import math
from pathlib import Path

from ascend_sn.collect.recorder import double_as_int64
from ascend_sn.model.trace_schema import (
    COUNTER,
    HOST_CALL,
    LOST,
    MEMORY,
    METRIC,
    OPEN_FLAG,
    OPERATOR,
    SESSION_START,
    SPAN,
    SPAN_COMMUNICATION,
    SPAN_COMPUTE,
    SPAN_COPY,
    SPAN_DATA,
    SPAN_OTHER,
    STEP,
)
from tests.unit.formats.train_trace.written import START_NS, Writing, table

KERNEL = ("name", "kind", "ts_ns", "dur_ns")


def test_a_collective_inside_backward_is_not_computing(tmp_path: Path) -> None:
    # backward   |bbbbbbbbbb|
    # all_reduce |   aaa    |
    trace = Writing(tmp_path)
    trace.span("all_reduce", 3, 6)
    trace.span("backward", 0, 10)

    capture = trace.read()

    assert table(capture, "kernel", *KERNEL) == [
        ("backward", "compute", 0, 3),
        ("all_reduce", "communication", 3, 3),
        ("backward", "compute", 6, 4),
    ]
    assert table(capture, "kernel", "operator_id") == [(0,), (1,), (0,)]
    assert table(capture, "collective", "kernel_id", "op", "ts_ns", "dur_ns") == [(1, "allreduce", 3, 3)]


def test_loading_and_copies_inside_a_phase_are_told_apart(tmp_path: Path) -> None:
    # forward |ffffffffffff|
    # matmul  | mmmm       |
    # h2d     |  h         |      inside matmul
    # load    |      dd    |      data: no kernel, and no computing either
    # block   |         bb |      says nothing: forward goes on
    trace = Writing(tmp_path)
    trace.span("h2d", 2, 3, value=64)
    trace.span("MatMul", 1, 5)
    trace.span("dataloader", 6, 8)
    trace.span("block", 9, 11)
    trace.span("forward", 0, 12)

    capture = trace.read()

    assert table(capture, "kernel", *KERNEL, "size_bytes", "copy_direction") == [
        ("forward", "compute", 0, 1, None, None),
        ("MatMul", "compute", 1, 1, None, None),
        ("h2d", "copy", 2, 1, 64, "h2d"),
        ("MatMul", "compute", 3, 2, None, None),
        ("forward", "compute", 5, 1, None, None),
        ("forward", "compute", 8, 4, None, None),
    ]


def test_computing_inside_a_collective_is_part_of_it(tmp_path: Path) -> None:
    trace = Writing(tmp_path)
    trace.span("matmul", 2, 3)
    trace.span("block", 1, 4)
    trace.span("all_reduce", 0, 5)

    assert table(trace.read(), "kernel", *KERNEL) == [("all_reduce", "communication", 0, 5)]


def test_threads_do_not_cut_each_other(tmp_path: Path) -> None:
    trace = Writing(tmp_path)
    trace.thread(1, "MainThread")
    trace.span("forward", 0, 4, thread=1)
    trace.span("all_reduce", 1, 3, thread=2)

    assert table(trace.read(), "kernel", *KERNEL, "stream") == [
        ("forward", "compute", 0, 4, "MainThread (1)"),
        ("all_reduce", "communication", 1, 2, "thread 2"),
    ]


def test_spans_that_cross_keep_their_whole_length(tmp_path: Path) -> None:
    # forward  |ffff  |
    # backward |  bbbb|
    trace = Writing(tmp_path)
    trace.span("forward", 0, 4)
    trace.span("backward", 2, 6)

    assert table(trace.read(), "kernel", *KERNEL) == [("forward", "compute", 0, 4), ("backward", "compute", 2, 4)]


def test_every_span_is_a_range_and_an_operator_with_the_phase_it_states(tmp_path: Path) -> None:
    trace = Writing(tmp_path)
    trace.span("dataloader", 0, 1)
    trace.span("fwd", 1, 2)
    trace.span("Backward", 2, 3)
    trace.span("optimizer_step", 3, 4)
    trace.span("something", 4, 5)
    trace.span("forward", 5, 6, kind=SPAN_DATA)
    trace.span("x", 6, 7, kind=SPAN_COMPUTE)
    trace.span("y", 7, 8, kind=SPAN_OTHER)

    capture = trace.read()

    assert table(capture, "operator", "operator_id", "name", "phase") == [
        (0, "dataloader", "data"),
        (1, "fwd", "forward"),
        (2, "Backward", "backward"),
        (3, "optimizer_step", "optimizer"),
        (4, "something", None),
        (5, "forward", "data"),
        (6, "x", None),
        (7, "y", None),
    ]
    assert table(capture, "span", "kind") == [
        ("data",),
        ("compute",),
        ("compute",),
        ("compute",),
        (None,),
        ("data",),
        ("compute",),
        ("other",),
    ]


def test_collectives_carry_what_was_given(tmp_path: Path) -> None:
    trace = Writing(tmp_path, rank=1, world_size=4)
    for sequence in (0, 1):
        trace.span(
            "grad sync",
            10 * sequence,
            10 * sequence + 5,
            kind=SPAN_COMMUNICATION,
            value=4096,
            ref=sequence,
            op="all_reduce",
            group="dp",
            ranks=(1, 3),
            dtype="float32",
        )
    trace.span("barrier", 20, 21, kind=SPAN_COMMUNICATION, ref=0)

    capture = trace.read()

    columns = ("op", "name", "group_id", "sequence", "size_bytes", "dtype", "ts_ns")
    assert table(capture, "collective", *columns) == [
        ("allreduce", "grad sync", "dp", 0, 4096, "float32", 0),
        ("allreduce", "grad sync", "dp", 1, 4096, "float32", 10),
        ("barrier", "barrier", "default", 0, None, None, 20),
    ]
    members = ("group_id", "kind", "group_rank", "group_size", "size_is_exact", "member_rank")
    assert sorted(table(capture, "comm_group_member", *members)) == [
        ("default", "default", 0, 4, True, 0),
        ("default", "default", 1, 4, True, 1),
        ("default", "default", 2, 4, True, 2),
        ("default", "default", 3, 4, True, 3),
        ("dp", None, 0, 2, True, 1),
        ("dp", None, 1, 2, True, 3),
    ]


def test_collectives_without_a_number_are_counted_per_group(tmp_path: Path) -> None:
    trace = Writing(tmp_path)
    for start, group in ((20, "a"), (0, "a"), (10, "b")):
        trace.span("all_gather", start, start + 5, group=group)

    assert table(trace.read(), "collective", "group_id", "sequence") == [("a", 0), ("b", 0), ("a", 1)]


def test_collectives_are_not_counted_when_rows_are_missing(tmp_path: Path) -> None:
    trace = Writing(tmp_path)
    trace.span("all_gather", 0, 5)
    trace.row(LOST, value=7)

    capture = trace.read()

    assert table(capture, "collective", "sequence") == [(None,)]
    (entry,) = capture.ledger.entries
    assert (entry.kind, entry.count, entry.severity) == ("lost_rows", 7, "damage")


def test_steps_have_the_session_they_lie_in(tmp_path: Path) -> None:
    trace = Writing(tmp_path)
    trace.session(0, 100, number=0)
    trace.session(200, 300, number=1)
    trace.span("forward", 10, 20)
    trace.span("forward", 210, 220)
    trace.row(STEP, at=0, dur=40, value=5)
    trace.row(STEP, at=40, dur=50, value=6)
    trace.row(STEP, at=200, dur=30, value=7, ref=1)

    capture = trace.read()

    assert capture.header.session_count == 2
    assert table(capture, "step", "step_id", "step", "epoch", "session", "ts_ns", "dur_ns", "origin") == [
        (0, 5, None, 0, 0, 40, "mark"),
        (1, 6, None, 0, 40, 50, "mark"),
        (2, 7, 1, 1, 200, 30, "mark"),
    ]


def test_an_empty_first_step_of_a_session_is_only_a_mark_at_the_top_of_the_loop(tmp_path: Path) -> None:
    trace = Writing(tmp_path)
    trace.session(0, 100)
    trace.row(STEP, at=0, dur=5, value=0)
    trace.span("forward", 6, 20)
    trace.row(STEP, at=5, dur=20, value=1)
    trace.row(STEP, at=25, dur=20, value=2)

    assert table(trace.read(), "step", "step", "ts_ns") == [(1, 5), (2, 25)]


def test_logged_values_are_exact_and_know_their_step(tmp_path: Path) -> None:
    trace = Writing(tmp_path)
    trace.session(0, 100)
    trace.row(STEP, at=0, dur=40, value=8)
    for at, value in ((10, 0.1), (40, -0.0), (60, math.inf)):
        trace.row(METRIC, "loss", at, value=double_as_int64(value))

    rows = table(trace.read(), "metric", "name", "step", "ts_ns", "value")

    assert rows == [("loss", 8, 10, 0.1), ("loss", 8, 40, 0.0), ("loss", None, 60, math.inf)]
    assert math.copysign(1, rows[1][3]) == -1


def test_samples_carry_their_unit(tmp_path: Path) -> None:
    trace = Writing(tmp_path)
    trace.row(COUNTER, "process.resident_bytes", 5, value=double_as_int64(4096.0), unit="bytes")

    assert table(trace.read(), "counter", "name", "unit", "ts_ns", "value") == [
        ("process.resident_bytes", "bytes", 5, 4096.0)
    ]


def test_allocations_and_frees(tmp_path: Path) -> None:
    trace = Writing(tmp_path)
    trace.row(MEMORY, None, 9, value=-512, ref=0xABC)
    trace.row(MEMORY, "aten::mm", 5, value=512, ref=0xABC)

    assert table(trace.read(), "memory_event", "kind", "size_bytes", "address", "operator_name", "ts_ns") == [
        ("alloc", 512, "0xabc", "aten::mm", 5),
        ("free", 512, "0xabc", None, 9),
    ]


def test_in_a_framework_capture_operators_are_the_frameworks_and_spans_are_ranges(tmp_path: Path) -> None:
    trace = Writing(tmp_path, device_kind="npu", device_id=3)
    trace.row(OPERATOR, "aten::mm", 2, 3, input_shapes="2,2;2,2", input_dtypes="float;float")
    trace.span("forward", 0, 9)

    capture = trace.read()

    assert capture.header.device_kind == "npu"
    assert capture.header.device_id == 3
    assert table(capture, "operator", "name", "ts_ns", "dur_ns", "input_shapes") == [("aten::mm", 2, 3, "2,2;2,2")]
    assert table(capture, "span", "name") == [("forward",)]
    assert len(capture.rows("kernel")) == 0


def test_garbage_collections_are_host_calls_and_nothing_else_is_without_a_framework(tmp_path: Path) -> None:
    trace = Writing(tmp_path)
    trace.thread(7, "Loader")
    trace.span("forward", 0, 4)
    trace.row(HOST_CALL, "GC", 6, 3, thread=7, category="gc")
    trace.row(HOST_CALL, "GC", 2, 1, category="gc")
    trace.row(HOST_CALL, "cudaMalloc", 5, 1, category="cuda_runtime")

    capture = trace.read()

    assert table(capture, "host_call", "host_call_id", "thread", "level", "name", "ts_ns", "dur_ns") == [
        (0, "thread 1", "gc", "GC", 2, 1),
        (1, "Loader (7)", "gc", "GC", 6, 3),
    ]
    assert [entry.state for entry in capture.coverage if entry.table_name == "host_call"] == ["collected"]


def test_a_span_that_was_cut_is_kept_and_said(tmp_path: Path) -> None:
    trace = Writing(tmp_path)
    trace.session(0, 10)
    trace.span("forward", 2, 10, kind=SPAN | OPEN_FLAG)

    capture = trace.read()

    assert table(capture, "kernel", *KERNEL) == [("forward", "compute", 2, 8)]
    assert [(entry.kind, entry.count, entry.severity) for entry in capture.ledger.entries] == [
        ("open_spans", 1, "info")
    ]


def test_a_session_that_never_ended_is_said(tmp_path: Path) -> None:
    trace = Writing(tmp_path)
    trace.row(SESSION_START, "{}", 0, value=0)
    trace.span("forward", 2, 10)

    assert [(entry.kind, entry.severity) for entry in trace.read().ledger.entries] == [("session_not_ended", "info")]


def test_rows_of_a_later_version_and_rows_without_meaning_are_counted(tmp_path: Path) -> None:
    trace = Writing(tmp_path)
    trace.span("forward", 0, 4)
    trace.row(200, "from the future", 5, 5)
    trace.span("backward", 9, 8)

    capture = trace.read()

    assert table(capture, "span", "name") == [("forward",)]
    assert {(entry.kind, entry.count) for entry in capture.ledger.entries} == {
        ("unknown_kind", 1),
        ("impossible_time", 1),
    }


def test_the_header_says_who_was_recorded(tmp_path: Path) -> None:
    trace = Writing(tmp_path, rank=3, world_size=8)
    trace.session(0, 10)

    header = trace.read().header

    assert (header.format, header.source, header.device_kind) == ("train.trace", "train.trace", "host")
    assert (header.host, header.pid, header.start_ns) == ("node-a", 41, START_NS)
    assert (header.rank, header.world_size, header.session_count) == (3, 8, 1)
    assert header.config["enable_comm"] is True


def test_what_was_not_asked_for_differs_from_what_did_not_happen(tmp_path: Path) -> None:
    trace = Writing(tmp_path)
    trace.span("h2d", 0, 1, kind=SPAN_COPY)

    states = {entry.table_name: entry.state for entry in trace.read().coverage}

    assert states["kernel"] == states["operator"] == states["span"] == "collected"
    assert states["collective"] == "empty"
    assert states["counter"] == "not_requested"
    assert states["kernel_metric"] == states["memory_event"] == "unsupported"
    assert "step" not in states
