"""Steps, operators, host calls and ranges of a PyTorch trace."""

from __future__ import annotations

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
from ascend_sn.model.rows import Bool, Rows, Text, conform
from ascend_sn.model.tables import HOST_CALL, OPERATOR, SPAN, STEP

__all__ = ["Threads", "call_rows", "connections", "operator_rows", "span_rows", "step_marks", "step_rows"]

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


def step_marks(host: Events, strings: Sequence[str]) -> Bool:
    """Return which host events mark a step: `ProfilerStep#N`, failing that the user's own ranges with numbers."""
    is_mark = lookup(host.name, strings, lambda name: int(categories.step_number(name) is not None), 0)
    return is_mark.astype(np.bool_) if bool(is_mark.any()) else _own_marks(host, strings)


def _own_marks(host: Events, strings: Sequence[str]) -> Bool:
    """Return the user's ranges `step N`, where they are steps: one after the other on one thread, counted upwards."""
    named = lookup(host.name, strings, lambda name: int(categories.own_step_number(name) is not None), 0)
    none = np.zeros(len(host), np.bool_)
    row = np.flatnonzero((named > 0) & (host.kind == categories.ANNOTATION))
    row = row[np.argsort(host.ts[row], kind="stable")]
    marks = host.take(row)
    numbers = np.array([categories.own_step_number(strings[code]) for code in marks.name.tolist()], np.int64)
    apart = bool((marks.ts[1:] >= (marks.ts + marks.dur)[:-1]).all())
    one_thread = len(distinct(thread_keys(marks.pid, marks.tid))) == 1
    if apart and one_thread and bool((np.diff(numbers) > 0).all()):
        none[row] = True
    return none


def step_rows(marks: Events, base_ns: int, strings: Sequence[str]) -> Rows:
    """Return the marked steps in order of time."""
    marks = marks.take(np.argsort(marks.ts, kind="stable"))
    names = [strings[code] for code in marks.name.tolist()]
    profilers = [categories.step_number(name) for name in names]
    numbers = [
        categories.own_step_number(name) if number is None else number
        for name, number in zip(names, profilers, strict=True)
    ]
    count = len(marks)
    return conform(
        STEP,
        count,
        step_id=np.arange(count),
        step=numbers,
        session=0,
        ts_ns=marks.ts + base_ns,
        dur_ns=marks.dur,
        origin="mark",
    )


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
