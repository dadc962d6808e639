"""Events as torch_npu writes them into trace_view.json; times in nanoseconds after the epoch of the drawn runs."""

from __future__ import annotations

from typing import Any

from tests.unit.formats.torch_npu.runs import START_US

__all__ = [
    *("CANN", "COMM", "DEVICE", "PYTHON"),
    *("arrow", "call", "counter", "group_op", "name", "op", "plane", "slice_", "task", "us"),
]

PYTHON, CANN, DEVICE, COMM = 41000, 41000 << 10 | 7 << 5, 41000 << 10 | 13 << 5 | 3, 41000 << 10 | 15 << 5 | 3

Event = dict[str, Any]


def us(ns: int) -> str:
    """Return an absolute time as the text that the exporter writes."""
    return f"{START_US + ns // 1000}.{ns % 1000:03d}"


def slice_(name: str, pid: int, tid: int, ts: int, dur: int, cat: str | None = None, **args: Any) -> Event:
    event: Event = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": us(ts), "dur": dur / 1000}
    if cat is not None:
        event["cat"] = cat
    return event | ({"args": args} if args else {})


def op(name: str, ts: int, dur: int, tid: int = 1, args: Event | None = None) -> Event:
    common: Event = {"Sequence number": -1, "Fwd thread id": 0}
    return slice_(name, PYTHON, tid, ts, dur, "cpu_op", **common, **(args or {}))


def call(name: str, ts: int, dur: int, connection: int | None, tid: int = 1, level: str = "acl") -> Event:
    args: Event = {"level": level, "connection_id": connection, "Mode": ""}
    return slice_(name, CANN, tid, ts, dur, **args)


def task(
    name: str,
    ts: int,
    dur: int,
    connection: int | None,
    stream: int = 2,
    kind: str = "AI_CORE",
    args: Event | None = None,
) -> Event:
    known: Event = {"Task Type": kind, "Physic Stream Id": stream, "Task Id": 5, **(args or {})}
    if connection is not None:
        known["connection_id"] = connection
    return slice_(name, DEVICE, stream, ts, dur, **known)


def group_op(name: str, ts: int, dur: int, connection: int, tid: int = 0, count: int = 10) -> Event:
    args: Event = {"connection_id": connection, "data_type": "FP32", "alg_type": "MESH-RING", "count": count}
    return slice_(name, COMM, tid, ts, dur, **args)


def plane(name: str, ts: int, dur: int, number: int, size: int = 0, link: str = "HCCS", dst: int = 1) -> Event:
    args: Event = {"task type": name, "src rank": 0, "dst rank": dst, "transport type": "SDMA", "size(Byte)": size}
    args |= {"link type": link, "stream id": 4, "task id": 5}
    return slice_(name, COMM, number + 1, ts, dur, **args)


def arrow(cat: str, id_: int | str, start: tuple[int, int, int], *ends: tuple[int, int, int]) -> list[Event]:
    """A flow from (pid, tid, ts) to others."""
    common = {"cat": cat, "name": cat, "id": id_}
    events = [{"ph": "s", **common, "pid": start[0], "tid": start[1], "ts": us(start[2])}]
    return events + [{"ph": "f", "bp": "e", **common, "pid": p, "tid": t, "ts": us(ts)} for p, t, ts in ends]


def counter(process: int, name: str, ts: int, **values: float) -> Event:
    return {"ph": "C", "name": name, "pid": process, "tid": 0, "ts": us(ts), "args": values}


def name(pid: int, process: str, **threads: str) -> list[Event]:
    """Metadata of a process; threads as `t4="Stream 4"`."""
    events: list[Event] = [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": process}}]
    for key, thread in threads.items():
        events.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": int(key[1:]), "args": {"name": thread}})
    return events
