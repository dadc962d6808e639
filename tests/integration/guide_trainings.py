"""The two trainings of which the guide tells what to do first, drawn: steps of one millisecond."""

from __future__ import annotations

from typing import Final

from duckdb import DuckDBPyConnection

from tests.timeline import empty_tables, insert

__all__ = ["serial_training", "small_operator_training"]

US = 1_000
STEP_NS = 1_000 * US
STEPS = 8

_FORWARD: Final = (("Conv2D", "forward", 350),)
_BACKWARD: Final = (("MatMulV2", "backward", 65),) * 4
_REDUCED: Final = (("hcom_allReduce_", "backward", 75),) * 4
_UPDATE: Final = (("ZerosLike", "optimizer", 3), ("Mul", "optimizer", 72))
_PARTS: Final = _FORWARD + _BACKWARD + _REDUCED + _UPDATE
"""Kernels of the first training with the phase of what launched them, and their time, us."""


def serial_training(mac_ratio: float = 0.45) -> DuckDBPyConnection:
    """All-reduce for 30 % of the step behind the backward pass, and a Conv2D that uses 45 % of the AI Core.

    A step of 1 ms: Conv2D 350 us forward, four backward kernels of 65 us, then four all-reduces of 75 us of their
    gradients, and the optimizer. The host launches it all ahead and waits for the end.
    """
    db = _run()
    for step in range(STEPS):
        begin = step * STEP_NS
        _step(db, step, begin)
        at = begin + 15 * US
        for place, (name, phase, length) in enumerate(_PARTS):
            number = 20 * step + place
            _launch(db, number, begin + 10 * US * place, 10 * US, phase)
            kind, stream = ("communication", "2") if name.startswith("hcom") else ("compute", "1")
            insert(db, "kernel", rank=0, kernel_id=number, device_id=0, stream=stream, name=name, op_type=name,
                   kind=kind, core_type="AI_CORE" if kind == "compute" else None, ts_ns=at, dur_ns=length * US,
                   step_id=step, operator_id=number, host_call_id=number, input_shapes="8,64,28,28;64,64,3,3",
                   input_dtypes="DT_BF16;DT_BF16", output_shapes="8,64,28,28", output_dtypes="DT_BF16")  # fmt: skip
            if kind == "communication":
                insert(db, "collective", rank=0, collective_id=number, kernel_id=number, op="allreduce", name=name,
                       group_id="g", sequence=number, size_bytes=3_000_000, dtype="bfloat16", ts_ns=at,
                       dur_ns=length * US, transit_ns=length * US, wait_ns=0, idle_ns=0, method="recorded")  # fmt: skip
            ratio = {"Conv2D": mac_ratio, "MatMulV2": 0.8}.get(name)
            if ratio is not None:
                insert(db, "kernel_metric", rank=0, kernel_id=number, metric="aic_mac_ratio", value=ratio)
                insert(db, "kernel_metric", rank=0, kernel_id=number, metric="aic_mte2_ratio", value=0.6)
            at += length * US
        _event(db, step, 11, "2", begin + 50 * US, begin + 52 * US, begin + 625 * US, waits_for=4)
        _event(db, step, 12, "1", begin + 90 * US, begin + 625 * US, begin + 925 * US, waits_for=8)
        _wait(db, 20 * step + 19, begin + 110 * US, STEP_NS - 110 * US)
    return db


def small_operator_training() -> DuckDBPyConnection:
    """Twenty ReLU and Add kernels of 8 us a step; after each the program reads a value back, then works for 22 us."""
    db = _run()
    for step in range(STEPS):
        begin = step * STEP_NS
        _step(db, step, begin)
        for place in range(20):
            number = 100 * step + place
            at = begin + 50 * US * place
            _launch(db, number, at, 20 * US, "forward")
            name = "Relu" if place % 2 == 0 else "Add"
            insert(db, "kernel", rank=0, kernel_id=number, device_id=0, stream="1", name=name, op_type=name,
                   kind="compute", core_type="AI_VECTOR_CORE", ts_ns=at + 20 * US, dur_ns=8 * US, step_id=step,
                   operator_id=number, host_call_id=number, input_shapes="256,1024", input_dtypes="FLOAT",
                   output_shapes="256,1024", output_dtypes="FLOAT")  # fmt: skip
            insert(db, "operator", rank=0, operator_id=number + 50, thread="main", name="aten::item",
                   ts_ns=at + 20 * US, dur_ns=8 * US, self_ns=8 * US, depth=0, phase="forward")  # fmt: skip
            _wait(db, number + 50, at + 20 * US, 8 * US, name="aclrtSynchronizeStream")
    return db


def _run() -> DuckDBPyConnection:
    db = empty_tables()
    insert(db, "profile", rank=0, format="drawing", source="drawn", device_kind="npu", host="node-a",
           device_name="Ascend910B3")  # fmt: skip
    return db


def _step(db: DuckDBPyConnection, step: int, begin: int) -> None:
    insert(db, "step", rank=0, step_id=step, step=step + 100, ts_ns=begin, dur_ns=STEP_NS, origin="mark")


def _launch(db: DuckDBPyConnection, number: int, at: int, dur: int, phase: str) -> None:
    insert(db, "operator", rank=0, operator_id=number, thread="main", name=f"aten::{phase}", ts_ns=at, dur_ns=dur,
           self_ns=dur - 5 * US, depth=0, phase=phase)  # fmt: skip
    insert(db, "host_call", rank=0, host_call_id=number, thread="main", level="acl", name="launch",
           ts_ns=at + dur - 5 * US, dur_ns=5 * US)  # fmt: skip


def _event(
    db: DuckDBPyConnection, step: int, place: int, stream: str, called: int, start: int, end: int, *, waits_for: int
) -> None:
    """A stream waits for a kernel of another one: the first all-reduce for a gradient, the optimizer for the last."""
    number = 20 * step + place
    insert(db, "host_call", rank=0, host_call_id=number, thread="main", level="acl", name="aclrtStreamWaitEvent",
           ts_ns=called, dur_ns=1 * US)  # fmt: skip
    insert(db, "kernel", rank=0, kernel_id=number, device_id=0, stream=stream, name="EVENT_WAIT", op_type="EVENT_WAIT",
           kind="sync", ts_ns=start, dur_ns=end - start, step_id=step, host_call_id=number)  # fmt: skip
    insert(db, "flow", rank=0, src_table="kernel", src_id=20 * step + waits_for, dst_table="kernel", dst_id=number,
           kind="event")  # fmt: skip


def _wait(db: DuckDBPyConnection, number: int, at: int, dur: int, name: str = "aclrtSynchronizeDevice") -> None:
    insert(db, "host_call", rank=0, host_call_id=number, thread="main", level="acl", name=name, ts_ns=at, dur_ns=dur)
