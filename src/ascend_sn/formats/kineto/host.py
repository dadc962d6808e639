"""Steps, operators, host calls and ranges of a PyTorch trace."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ascend_sn._native.codes import distinct
from ascend_sn._native.trace_scan import Strings
from ascend_sn.formats.chrome.events import Events, lookup, thread_keys
from ascend_sn.formats.chrome.texts import Codes, text_column
from ascend_sn.formats.kineto import categories
from ascend_sn.formats.kineto.shapes import Inputs
from ascend_sn.formats.kineto.stacks import Stacks
from ascend_sn.model.rows import Bool, Int64, Rows, Text, conform
from ascend_sn.model.tables import HOST_CALL, OPERATOR, SPAN, STEP

__all__ = ["Threads", "call_rows", "connections", "launching", "operator_rows", "span_rows", "step_marks", "step_rows"]

_OWN_MARKS_AT_LEAST: Final = 3
"""The user's own ranges from which on they may be steps: one of them, or two, is any part of the work."""

_WORK_INSIDE_AT_LEAST: Final = 0.8
"""Share of the work that was asked for inside the user's own ranges, where they are steps: the rest is between them."""

_LAUNCH: Final = re.compile(r"Launch", re.IGNORECASE)

_SPAN_DOMAINS: Final = {
    "gpu_user_annotation": "gpu_annotation",
    "python_function": "python",
    "trace": "profiler",
}


@dataclass(frozen=True)
class Threads:
    """Names of threads: the thread id, with the process before it where a trace holds several processes."""

    strings: Sequence[str]
    single_process: bool

    @staticmethod
    def of(groups: Sequence[Events], strings: Sequence[str]) -> Threads:
        """Look at the processes of all host events."""
        processes = {int(pid) for events in groups for pid in distinct(events.pid)}
        return Threads(strings, len(processes) <= 1)

    def names(self, events: Events) -> Text:
        """Return the thread of each event."""
        if self.single_process:
            return text_column(events.tid, self.strings)
        keys, row = np.unique(thread_keys(events.pid, events.tid), return_inverse=True)
        named = [
            f"{self.strings[pid]}/{self.strings[tid]}"
            for pid, tid in zip((keys >> 32).tolist(), keys.astype(np.int32).tolist(), strict=True)
        ]
        return Text(row.astype(np.int32), named)


def step_marks(host: Events, calls: Events, device: Events, strings: Sequence[str]) -> Bool:
    """Return which host events mark a step: `ProfilerStep#N`, failing that the user's own ranges with numbers.

    Args:
        host: Operators and ranges.
        calls: Host calls.
        device: Device events.
        strings: Texts of the file.
    """
    is_mark = lookup(host.name, strings, lambda name: int(categories.step_number(name) is not None), 0)
    return is_mark.astype(np.bool_) if bool(is_mark.any()) else _own_marks(host, calls, device, strings)


def _own_marks(host: Events, calls: Events, device: Events, strings: Sequence[str]) -> Bool:
    """Return the user's ranges `step N`, where they are steps.

    These are one after the other on one thread, three or more, of one name, counted upwards evenly, and hold most of
    the work. Other ranges are parts of something: false steps would also stand in the way of those that the rhythm of
    the kernels tells.
    """
    none = np.zeros(len(host), np.bool_)
    named = lookup(host.name, strings, lambda name: int(categories.own_step(name) is not None), 0)
    row = np.flatnonzero((named > 0) & (host.kind == categories.ANNOTATION))
    if len(row) < _OWN_MARKS_AT_LEAST:
        return none
    row = row[np.argsort(host.ts[row], kind="stable")]
    marks = host.take(row)
    found = [one for code in marks.name.tolist() if (one := categories.own_step(strings[code])) is not None]
    strides = np.diff([number for _, number in found])
    ends = marks.ts + marks.dur
    apart = bool((marks.ts[1:] >= ends[:-1]).all())
    one_thread = len(distinct(thread_keys(marks.pid, marks.tid))) == 1
    one_name = len({before for before, _ in found}) == 1
    counted = bool((strides == strides[0]).all()) and strides[0] > 0
    if not (apart and one_thread and one_name and counted):
        return none
    work = _work_ns(host, calls, device, strings)
    at = np.searchsorted(marks.ts, work, side="right") - 1
    inside = (at >= 0) & (work < ends[at])
    none[row] = np.count_nonzero(inside) >= max(_WORK_INSIDE_AT_LEAST * len(work), 1)
    return none


def _work_ns(host: Events, calls: Events, device: Events, strings: Sequence[str]) -> Int64:
    """Return when work was asked for: the launches, else the starts of the kernels, else those of the operators."""
    launches: Int64 = calls.ts[launching(calls, strings)]
    if len(launches):
        return launches
    kernels: Int64 = device.ts[device.kind == categories.KERNEL]
    operators: Int64 = host.ts[host.kind == categories.OPERATOR]
    return kernels if len(kernels) else operators


def launching(calls: Events, strings: Sequence[str]) -> Bool:
    """Return which host calls launch kernels."""
    return lookup(calls.name, strings, lambda name: int(_LAUNCH.search(name) is not None), 0).astype(np.bool_)


def step_rows(marks: Events, base_ns: int, strings: Sequence[str]) -> Rows:
    """Return the marked steps in order of time."""
    marks = marks.take(np.argsort(marks.ts, kind="stable"))
    names = [strings[code] for code in marks.name.tolist()]
    count = len(marks)
    return conform(
        STEP,
        count,
        step_id=np.arange(count),
        step=[_number(name) for name in names],
        session=0,
        ts_ns=marks.ts + base_ns,
        dur_ns=marks.dur,
        origin="mark",
    )


def _number(name: str) -> int | None:
    own = categories.own_step(name)
    return categories.step_number(name) if own is None else own[1]


def operator_rows(
    host: Events, base_ns: int, strings: Sequence[str], threads: Threads, inputs: Inputs | None, stacks: Stacks | None
) -> Rows:
    """Return framework operators and the user's ranges, in file order."""
    count = len(host)
    return conform(
        OPERATOR,
        count,
        operator_id=np.arange(count),
        thread=threads.names(host),
        name=text_column(host.name, strings),
        ts_ns=host.ts + base_ns,
        dur_ns=host.dur,
        module=stacks.module if stacks else None,
        input_shapes=inputs.shapes if inputs else None,
        input_dtypes=inputs.dtypes if inputs else None,
        input_bytes=inputs.bytes if inputs else None,
        stack_id=stacks.stack_id if stacks else None,
    )


def call_rows(calls: Events, base_ns: int, strings: Strings, threads: Threads) -> Rows:
    """Return runtime and driver calls, in file order; `connection` is the correlation id."""
    count = len(calls)
    names = text_column(calls.name, strings)
    return conform(
        HOST_CALL,
        count,
        host_call_id=np.arange(count),
        thread=threads.names(calls),
        level=_levels(calls, names, strings),
        name=names,
        ts_ns=calls.ts + base_ns,
        dur_ns=calls.dur,
        connection=text_column(connections(calls, strings), strings),
    )


def connections(events: Events, strings: Strings) -> Codes:
    """Return the correlation of each event as a code, -1 where it has none (0 and -1 say so)."""
    codes = events.texts["correlation"]
    number, is_number = strings.integers(codes)
    return np.where(is_number & (number <= 0), np.int32(-1), codes)


def span_rows(spans: Events, instants: Events, base_ns: int, strings: Sequence[str], threads: Threads) -> Rows:
    """Return Python frames, device annotations, profiler windows and unknown ranges; instants last."""
    count, points = len(spans), len(instants)
    if not count + points:
        return conform(SPAN, 0)
    domains = text_column(spans.category, strings).mapped(_domain)
    return conform(
        SPAN,
        count + points,
        span_id=np.arange(count + points),
        name=text_column(np.concatenate([spans.name, instants.name]), strings),
        domain=_followed(domains, "instant", points),
        thread=_joined(threads.names(spans), threads.names(instants)),
        ts_ns=np.concatenate([spans.ts, instants.ts]) + base_ns,
        dur_ns=np.concatenate([spans.dur, np.zeros(points, np.int64)]),
    )


def _levels(calls: Events, names: Text, strings: Sequence[str]) -> Text:
    """Return whose API a call belongs to: hip by its name, else the category without its suffix."""
    prefix = text_column(calls.category, strings).mapped(_level)
    hip = names.where(lambda name: name.startswith("hip"))
    values = [*prefix.values, "hip"]
    return Text(np.where(hip, np.int32(len(values) - 1), prefix.codes), values)


def _level(category: str) -> str:
    family = category.lower().rsplit("_", 1)[0]
    return {"runtime": "cuda", "privateuse1": "runtime"}.get(family, family)


def _domain(category: str) -> str:
    return _SPAN_DOMAINS.get(category.lower(), category)


def _followed(text: Text, added: str, count: int) -> Text:
    values = [*text.values, added]
    return Text(np.append(text.codes, np.full(count, len(values) - 1, np.int32)), values)


def _joined(first: Text, second: Text) -> Text:
    moved = np.where(second.codes >= 0, second.codes + len(first.values), -1).astype(np.int32)
    return Text(np.append(first.codes, moved), [*first.values, *second.values])
