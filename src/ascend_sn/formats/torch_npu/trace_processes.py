"""Which process and thread of a trace is what: Python, CANN, the device, its groups and planes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ascend_sn._native.codes import compact
from ascend_sn.formats.torch_npu.trace_events import TraceEvents
from ascend_sn.model.rows import Int64, Text

__all__ = ["EventClasses", "Threads", "classify", "read_threads"]

Mask = npt.NDArray[np.bool_]

_COMMUNICATION: Final = frozenset({"HCCL", "Communication"})
_FRAMEWORK: Final = frozenset({"MindSpore", "CPU OP"})
"""Processes of MindSpore whose slices are operators; they have no category."""

_OVERLAP: Final = frozenset({"Computing", "Communication", "Communication(Not Overlapped)", "Free"})
_LABEL = re.compile(r"^NPU (\d{1,4})$")
_X, _C, _M = ord("X"), ord("C"), ord("M")
_OPERATOR, _QUEUE, _FRAME = range(3)
_KINDS: Final = {
    **dict.fromkeys(("cpu_op", "user_annotation"), _OPERATOR),
    **dict.fromkeys(("enqueue", "dequeue"), _QUEUE),
    "python_function": _FRAME,
}


@dataclass(frozen=True)
class Threads:
    """Names from metadata events, by codes of pid and tid."""

    process: dict[int, str]
    thread: dict[tuple[int, int], str]
    device: dict[int, int]
    python_pid: int | None


@dataclass(frozen=True)
class EventClasses:
    """Positions of the events of each kind, in file order."""

    operators: Int64
    queues: Int64
    frames: Int64
    ranges: Int64
    collections: Int64
    calls: Int64
    tasks: Int64
    ops: Int64
    planes: Int64
    counters: Int64


def read_threads(events: TraceEvents) -> Threads:
    """Read the metadata events; the device of a process is in its label or in its pid."""
    metadata = np.flatnonzero(events.ph == _M)
    kinds = events.text(events.name[metadata]).decode()
    names = events.argument_text("name", metadata).decode()
    labels = events.argument_text("labels", metadata).decode()
    process: dict[int, str] = {}
    thread: dict[tuple[int, int], str] = {}
    labelled: dict[int, int] = {}
    pids, tids = events.pid[metadata].tolist(), events.tid[metadata].tolist()
    for kind, name, label, pid, tid in zip(kinds, names, labels, pids, tids, strict=True):
        if kind == "process_name" and name is not None:
            process[pid] = name
        elif kind == "thread_name" and name is not None:
            thread[pid, tid] = name
        elif kind == "process_labels" and label is not None and (found := _LABEL.match(label)):
            labelled[pid] = int(found[1])
    python = next((_number(events.strings[pid]) for pid, name in process.items() if name == "Python"), None)
    owner = python if python is not None else _owner(events, process)
    device: dict[int, int] = {}
    for pid in process:
        number = _number(events.strings[pid])
        if pid in labelled:
            device[pid] = labelled[pid]
        elif number is not None and owner is not None and number >> 10 == owner:
            # pid = os_pid << 10 | sort_index << 5 | device
            device[pid] = number & 31
    return Threads(process, thread, device, python)


def _owner(events: TraceEvents, process: Mapping[int, str]) -> int | None:
    """The process id that pids of CANN and of devices hold in common, in a trace without Python."""
    numbers = {name: _number(events.strings[pid]) for pid, name in process.items()}
    cann = numbers.get("CANN")
    device = next((number for name, number in numbers.items() if name == "Ascend Hardware" and number), None)
    same = cann is not None and device is not None and cann >> 10 == device >> 10 > 0
    return cann >> 10 if same and cann is not None else None


def classify(events: TraceEvents, threads: Threads) -> EventClasses:
    """Sort events into kinds, by category and arguments first: a cut file lacks the metadata events."""
    slices = (events.ph == _X) & events.has_ts
    kind = events.category.numbered(_KINDS)
    operators = slices & (kind == _OPERATOR)
    queues = slices & (kind == _QUEUE)
    frames = slices & (kind == _FRAME)
    left = slices & (kind < 0)
    tasks = left & events.has_argument("Task Type")
    left &= ~tasks
    calls = left & events.has_argument("level")
    left &= ~calls
    planes = left & events.has_argument("task type")
    left &= ~planes
    # What is left is little: operators of communication, the overlap analysis, collections, ranges.
    index = np.flatnonzero(left)
    process = _processes(events, threads, index)
    grouped = process.matches(_COMMUNICATION) & _in_groups(events, threads, index)
    ops = events.has_argument("alg_type")[index] | grouped
    framework = process.matches(_FRAMEWORK)
    overlap = process.matches(["Overlap Analysis"])
    overlap |= events.text(events.name[index]).matches(_OVERLAP) & ~process.matches(["Python"])
    collections = process.matches(["Python GC"])
    return EventClasses(
        operators=np.sort(np.concatenate([np.flatnonzero(operators), index[framework]])),
        queues=np.flatnonzero(queues),
        frames=np.flatnonzero(frames),
        ranges=index[~(ops | overlap | collections | framework)],
        collections=index[collections],
        calls=np.flatnonzero(calls),
        tasks=np.flatnonzero(tasks),
        ops=index[ops],
        planes=np.flatnonzero(planes),
        counters=np.flatnonzero((events.ph == _C) & events.has_ts),
    )


def _processes(events: TraceEvents, threads: Threads, index: Int64) -> Text:
    """Name of each event's process; null where the metadata is missing."""
    pids, codes = compact(events.pid[index], len(events.strings))
    return Text(codes, pids.tolist()).mapped(threads.process.get)


def _in_groups(events: TraceEvents, threads: Threads, index: Int64) -> Mask:
    mask = np.zeros(len(index), np.bool_)
    for (pid, tid), name in threads.thread.items():
        if name.startswith("Group"):
            mask |= (events.pid[index] == pid) & (events.tid[index] == tid)
    return mask


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
