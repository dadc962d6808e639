"""Write the trace of one rank as the Ascend profiler does: section after section, with every id chain.

The share of each kind of event, its size and its arguments follow captures of level 1 with Python stacks. Unlike
those of `trace_writer`, the events can be joined: operator to queue, queue to call, call to task, each by its id.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

__all__ = ["RankTruth", "write_rank"]

EPOCH_NS: Final = 1_736_408_883_000_000_000
PYTHON, CANN, DEVICE, OVERLAP, FREQUENCY = 3096504, 3170820320, 3170820512, 3170820832, 3170820544
MAIN, QUEUE = 3096504, 3099702
TURN_NS: Final = 50_000
TURNS_OF_A_STEP: Final = 1_000
BYTES_OF_A_TURN: Final = 6_130
CHUNK: Final = 500

FRAMES: Final = [f"/opt/train/site-packages/module_{depth % 7}/layer.py" for depth in range(19)]
STACKS: Final = [
    json.dumps(";\r\n".join(f"{file}({31 * depth + place}): forward_{depth}" for depth, file in enumerate(FRAMES)))
    for place in range(60)
]
DIMS, TYPES = json.dumps("64,3,224,224;\r\n64,3,11,11;\r\n64;\r\n"), json.dumps("float;\r\nfloat;\r\nfloat;\r\n")


@dataclass(frozen=True)
class RankTruth:
    """What has to be found in the tables; durations in ns."""

    size_bytes: int
    events: int
    steps: int
    operators: int
    host_calls: int
    kernels: int
    kernel_ns: int


def write_rank(path: Path, size_bytes: int) -> RankTruth:
    """Write a `trace_view.json` of about `size_bytes` and return what it holds."""
    turns = max(1, size_bytes // BYTES_OF_A_TURN)
    with path.open("w") as file:
        file.write("[")
        events = sum(_write_section(file, section, turns) for section in SECTIONS)
        metadata = ", ".join(_metadata())
        file.write(metadata + "]")
    return RankTruth(
        size_bytes=path.stat().st_size,
        events=events + metadata.count('"ph"'),
        steps=-(-turns // TURNS_OF_A_STEP),
        operators=3 * turns,
        host_calls=4 * turns,
        kernels=2 * turns,
        kernel_ns=sum(_kernel_ns(turn) + 20 for turn in range(turns)),
    )


def _write_section(file: TextIO, section: Callable[[int], Iterator[str]], turns: int) -> int:
    events = 0
    for first in range(0, turns, CHUNK):
        texts = [text for turn in range(first, min(first + CHUNK, turns)) for text in section(turn)]
        events += len(texts)
        if texts:
            file.write(", ".join(texts) + ", ")
    return events


def _start(turn: int) -> int:
    return EPOCH_NS + turn * TURN_NS + turn * 37 % 500


def _kernel_ns(turn: int) -> int:
    return 5_000 + turn * 7_919 % 40_000


def _us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


def _slice(name: str, ts: int, dur: int, pid: int, tid: int) -> str:
    return f'"name": "{name}", "pid": {pid}, "tid": {tid}, "ts": "{_us(ts)}", "dur": {_us(dur)}'


def _operators(turn: int) -> Iterator[str]:
    ts, shapes = _start(turn), f'"Input Dims": {DIMS}, "Input type": {TYPES}'
    if turn % TURNS_OF_A_STEP == 0:
        step = f"{_slice(f'ProfilerStep#{turn // TURNS_OF_A_STEP}', ts - 600, TURNS_OF_A_STEP * TURN_NS, PYTHON, MAIN)}"
        yield f'{{"ph": "X", {step}, "cat": "cpu_op", "args": {{"Sequence number": -1, "Fwd thread id": 0}}}}'
    yield (
        f'{{"ph": "X", {_slice(f"aten::op_{turn % 97}", ts, 40_000, PYTHON, MAIN)}, "cat": "cpu_op", "args": '
        f'{{"Sequence number": {turn}, "Fwd thread id": 0, {shapes}, "Call stack": {STACKS[turn % len(STACKS)]}}}}}'
    )
    for depth, name in ((1, "aten::empty"), (2, f"aten::inner_{turn % 41}")):
        named = _slice(name, ts + 100 * depth, 39_000 - 9_000 * depth, PYTHON, MAIN)
        yield (
            f'{{"ph": "X", {named}, "cat": "cpu_op", '
            f'"args": {{"Sequence number": {turn}, "Fwd thread id": 0, {shapes}}}}}'
        )


def _queues(turn: int) -> Iterator[str]:
    ts = _start(turn) + 300
    ends = (
        ("s", "enqueue", "Enqueue", ts, MAIN),
        ("f", "dequeue", f"Dequeue@aclnnOp{turn % 53}", ts + 8_000, QUEUE),
    )
    for letter, category, name, at, thread in ends:
        yield (
            f'{{"ph": "X", {_slice(name, at, 17_700, PYTHON, thread)}, "cat": "{category}", '
            f'"args": {{"correlation_id": {turn + 1}}}}}'
        )
        yield (
            f'{{"ph": "{letter}", "bp": "e", "name": "enqueue_to_dequeue", "id": {turn + 1}, "pid": {PYTHON}, '
            f'"tid": {thread}, "ts": "{_us(at)}", "cat": "async_task_queue"}}'
        )


def _arrows(turn: int) -> Iterator[str]:
    ts, on_device = _start(turn), _start(turn) + 70_000
    for letter, at, pid, tid in (("s", ts + 200, PYTHON, MAIN), ("f", on_device, DEVICE, 2)):
        yield (
            f'{{"ph": "{letter}", "bp": "e", "name": "torch_to_npu", "id": {on_device}, "pid": {pid}, "tid": {tid}, '
            f'"ts": "{_us(at)}", "cat": "async_npu"}}'
        )


def _frames(turn: int) -> Iterator[str]:
    for depth in range(4):
        name = f"/opt/train/site-packages/module_{turn % 7}/layer.py({depth * 31 + 7}): forward_{turn % 43}"
        yield (
            f'{{"ph": "X", {_slice(name, _start(turn) - 400 + 80 * depth, 45_000 - 900 * depth, PYTHON, MAIN)}, '
            f'"cat": "python_function", "args": {{"Python id": {4 * turn + depth}, "Python parent id": {4 * turn}}}}}'
        )


def _device(turn: int) -> Iterator[str]:
    ts, connection = _start(turn), turn + 5
    for name, mode, level, at, dur in (
        (f"AscendCL@aclnnOp{turn % 53}", "ACL_OP", "acl", ts + 10_000, 12_000),
        ("Node@launch", "launch", "node", ts + 12_000, 6_000),
    ):
        yield (
            f'{{{_slice(name, at, dur, CANN, QUEUE)}, "args": {{"Thread Id": {QUEUE}, "Mode": "{mode}", '
            f'"level": "{level}", "id": "{name}", "item_id": "Op{turn % 97}", '
            f'"connection_id": {connection + (level == "acl")}}}, "ph": "X"}}'
        )
    for name, kind, at, dur in (
        (f"aclnnOp{turn % 53}_Op{turn % 97}", "AI_CORE", ts + 70_000, _kernel_ns(turn)),
        ("EVENT_RECORD", "EVENT_RECORD_SQE", ts + 70_000 + _kernel_ns(turn), 20),
    ):
        yield (
            f'{{{_slice(name, at, dur, DEVICE, 2)}, "args": {{"Model Id": 4294967295, "Task Type": "{kind}", '
            f'"Physic Stream Id": 2, "Task Id": {turn % 65536}, "Batch Id": 0, "Subtask Id": 4294967295, '
            f'"connection_id": {connection if kind == "AI_CORE" else 0}}}, "ph": "X"}}'
        )
    flow = f"{turn + 5}42991"
    yield (
        f'{{"name": "HostToDevice{flow}", "ph": "s", "cat": "HostToDevice", "id": "{flow}", "pid": {CANN}, '
        f'"tid": {QUEUE}, "ts": "{_us(ts + 12_000)}"}}'
    )
    yield (
        f'{{"name": "HostToDevice{flow}", "ph": "f", "id": "{flow}", "ts": "{_us(ts + 70_000)}", '
        f'"cat": "HostToDevice", "pid": {DEVICE}, "tid": 2, "bp": "e"}}'
    )
    yield f'{{{_slice("Computing", ts + 70_000, _kernel_ns(turn), OVERLAP, 0)}, "ph": "X"}}'


def _counters(turn: int) -> Iterator[str]:
    for sample in range(8):
        at = _us(_start(turn) + 70_000 + 6_000 * sample)
        yield (
            f'{{"name": "AI Core Freq", "ts": "{at}", "pid": {FREQUENCY}, "tid": 0, '
            f'"args": {{"MHz": {1800 - sample}}}, "ph": "C"}}'
        )


def _metadata() -> Iterator[str]:
    names = {PYTHON: "Python", CANN: "CANN", DEVICE: "Ascend Hardware", OVERLAP: "Overlap Analysis"}
    for pid, name in {**names, FREQUENCY: "AI Core Freq"}.items():
        yield f'{{"name": "process_name", "pid": {pid}, "tid": 0, "args": {{"name": "{name}"}}, "ph": "M"}}'
    yield f'{{"name": "thread_name", "pid": {DEVICE}, "tid": 2, "args": {{"name": "Stream 2"}}, "ph": "M"}}'


SECTIONS: Final = (_operators, _queues, _arrows, _frames, _device, _counters)
