"""Spans of a capture without a framework: they are the operators, and their own time is the device's.

What a thread does at a moment is what the innermost span of a known class says: a collective inside
`backward` is not computing, and computing goes on where it ended. So each computing or copying span becomes
one kernel per stretch of its own time, and a collective becomes one kernel whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from ascend_sn._native.nesting import nest
from ascend_sn.formats.train_trace.names import Name, Names
from ascend_sn.formats.train_trace.stream import Events
from ascend_sn.model.rows import Bool, Int64, Nullable, Rows, Text, conform
from ascend_sn.model.tables import COLLECTIVE, KERNEL, OPERATOR, SPAN
from ascend_sn.model.trace_schema import (
    COMPUTE_CLASSES,
    DEFAULT_GROUP,
    NOT_GIVEN,
    OPEN_FLAG,
    SPAN as PLAIN_SPAN,
    SPAN_CLASSES,
    class_of_name,
)

__all__ = [
    "CLASSES",
    "Spans",
    "collective_names",
    "collective_rows",
    "kernel_rows",
    "operator_rows",
    "span_rows",
    "spans_of",
]

CLASSES: Final = tuple(name for name, _ in SPAN_CLASSES)
_UNKNOWN: Final = -1
_COMMUNICATION: Final = CLASSES.index("communication")
_COPY: Final = CLASSES.index("copy")
_OTHER: Final = CLASSES.index("other")
_COMPUTING: Final = tuple(CLASSES.index(name) for name in COMPUTE_CLASSES)
_PHASES: Final = ("data", "forward", "backward", "optimizer")

_KERNEL_KINDS: Final = ("compute", "communication", "copy")

_OPS: Final = (
    "allreduce",
    "allgather",
    "reducescatter",
    "alltoallv",
    "alltoall",
    "broadcast",
    "barrier",
    "send",
    "receive",
    "recv",
    "gather",
    "scatter",
    "reduce",
)
_DIRECTIONS: Final = (
    ("h2d", ("h2d", "hosttodevice", "todevice", "tonpu", "copyin")),
    ("d2h", ("d2h", "devicetohost", "tohost", "tocpu", "copyout")),
    ("d2d", ("d2d", "devicetodevice")),
)


@dataclass(frozen=True)
class Spans:
    """The spans of a trace by start, outer before inner; `class_code` indexes `CLASSES`, -1 where unknown."""

    events: Events
    thread: Text
    name: Text
    record: list[Name]
    record_code: Int64
    class_code: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.events)


def spans_of(events: Events, thread: Text, names: Names) -> Spans:
    """Sort span rows, and tell their class: as given, else by name.

    Args:
        events: Rows of span kinds only.
        thread: Thread of each row.
        names: Texts of the trace.
    """
    order = np.lexsort((-events.dur_ns, events.ts_ns))
    events, thread = events.take(order), thread.take(order)
    record, code = names.records_of(events.name_id)
    by_name = np.array([_class_code(class_of_name(name.text)) for name in record], np.int32)
    by_kind = np.full(256, _UNKNOWN, np.int32)
    by_kind[[number for _, number in SPAN_CLASSES]] = np.arange(len(SPAN_CLASSES))
    kind = events.kind & np.uint8(255 - OPEN_FLAG)
    class_code = np.where(kind == PLAIN_SPAN, by_name[code] if len(code) else _UNKNOWN, by_kind[kind])
    return Spans(events, thread, names.column(events.name_id), record, code, class_code.astype(np.int32))


def span_rows(spans: Spans) -> Rows:
    """Return the user ranges as recorded."""
    kinds = [name if name not in COMPUTE_CLASSES else "compute" for name in CLASSES]
    return conform(
        SPAN,
        len(spans),
        span_id=np.arange(len(spans)),
        name=spans.name,
        domain="user",
        kind=Text(spans.class_code, kinds),
        thread=spans.thread,
        ts_ns=spans.events.ts_ns,
        dur_ns=spans.events.dur_ns,
    )


def operator_rows(spans: Spans) -> Rows:
    """Return every span as an operator; `operator_id` is the position of the span."""
    phases = [name if name in _PHASES else None for name in CLASSES]
    named = Text.of(phases)
    return conform(
        OPERATOR,
        len(spans),
        operator_id=np.arange(len(spans)),
        thread=spans.thread,
        name=spans.name,
        ts_ns=spans.events.ts_ns,
        dur_ns=spans.events.dur_ns,
        phase=Text(np.append(named.codes, np.int32(-1))[spans.class_code], named.values),
    )


def kernel_rows(spans: Spans) -> tuple[Rows, Int64]:
    """Return the kernels by start, and the span that each one is a stretch of."""
    span, start, end = _stretches(spans)
    order = np.lexsort((end, start))
    span, start, end = span[order], start[order], end[order]
    class_code = spans.class_code[span]
    kind = np.zeros(len(span), np.int32)
    kind[class_code == _COMMUNICATION] = 1
    kind[class_code == _COPY] = 2
    size = spans.events.value[span]
    is_copy = class_code == _COPY
    direction = _per_record(spans, span, _direction)
    rows = conform(
        KERNEL,
        len(span),
        kernel_id=np.arange(len(span)),
        device_id=0,
        stream=spans.thread.take(span),
        name=spans.name.take(span),
        op_type=_op_types(spans, span, class_code),
        kind=Text(kind, _KERNEL_KINDS),
        ts_ns=start,
        dur_ns=end - start,
        operator_id=span,
        copy_direction=Text(np.where(is_copy, direction.codes, np.int32(-1)), direction.values),
        size_bytes=Nullable(size, is_copy & (size != NOT_GIVEN)),
    )
    return rows, span


def collective_rows(spans: Spans, kernel_span: Int64, is_complete: bool) -> Rows:
    """Return the communication spans by start.

    Args:
        spans: The spans.
        kernel_span: Span of each kernel, as `kernel_rows` gives it.
        is_complete: Whether no row is missing, so that calls without a number can be counted.
    """
    chosen = np.flatnonzero(spans.class_code == _COMMUNICATION)
    kernel_of_span = np.full(len(spans) + 1, -1, np.int64)
    kernel_of_span[kernel_span[::-1]] = np.arange(len(kernel_span))[::-1]
    group = _per_record(spans, chosen, _group)
    size = spans.events.value[chosen]
    return conform(
        COLLECTIVE,
        len(chosen),
        collective_id=np.arange(len(chosen)),
        kernel_id=kernel_of_span[chosen],
        op=_per_record(spans, chosen, _op),
        name=spans.name.take(chosen),
        group_id=group,
        sequence=_sequences(group, spans.events.ref[chosen], is_complete),
        size_bytes=Nullable(size, size != NOT_GIVEN),
        dtype=_per_record(spans, chosen, lambda name: name.dtype),
        ts_ns=spans.events.ts_ns[chosen],
        dur_ns=spans.events.dur_ns[chosen],
    )


def collective_names(spans: Spans) -> list[Name]:
    """Return the distinct names of the communication spans, with what is known of their groups."""
    return [spans.record[code] for code in np.unique(spans.record_code[spans.class_code == _COMMUNICATION]).tolist()]


def _sequences(group: Text, given: Int64, is_complete: bool) -> Nullable:
    """Return the number of each call in its group: as recorded, else counted where none of the group has one."""
    numbers = given.copy()
    if is_complete:
        for code in np.unique(group.codes).tolist():
            members = np.flatnonzero(group.codes == code)
            if bool((given[members] == NOT_GIVEN).all()):
                numbers[members] = np.arange(len(members))
    return Nullable(numbers, numbers != NOT_GIVEN)


def _stretches(spans: Spans) -> tuple[Int64, Int64, Int64]:
    """Return span, start and end of every stretch in which a span is the innermost one of a known class."""
    known = np.flatnonzero((spans.class_code != _UNKNOWN) & (spans.class_code != _OTHER))
    start = spans.events.ts_ns[known]
    end = start + spans.events.dur_ns[known]
    class_code = spans.class_code[known]
    nesting = nest(spans.thread.codes[known], start, end - start)
    parent = nesting.parent
    communicating = class_code == _COMMUNICATION
    inside = _inside(communicating, parent, nesting.depth)
    own = (np.isin(class_code, _COMPUTING) | (class_code == _COPY)) & ~inside
    # The first stretch ends with the first child, and one more follows each child up to the next one.
    first_child = end.copy()
    children = np.flatnonzero(parent >= 0)
    np.minimum.at(first_child, parent[children], start[children])
    children = children[np.lexsort((start[children], parent[children]))]
    following = end[parent[children]]
    siblings = parent[children][1:] == parent[children][:-1]
    following[:-1][siblings] = start[children][1:][siblings]
    of_own = own[parent[children]]
    whole = np.flatnonzero(communicating & ~inside)
    firsts = np.flatnonzero(own)
    span = np.concatenate([firsts, parent[children][of_own], whole])
    begins = np.concatenate([start[firsts], end[children][of_own], start[whole]])
    ends = np.concatenate([first_child[firsts], following[of_own], end[whole]])
    kept = (ends > begins) | (end[span] == start[span])
    return known[span[kept]], begins[kept], ends[kept]


def _inside(chosen: Bool, parent: Int64, depth: npt.NDArray[np.int32]) -> Bool:
    """Return which rows lie inside a chosen one, level by level."""
    found = np.zeros(len(chosen), np.bool_)
    order = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(depth[order], np.arange(1, int(depth.max(initial=0)) + 2)).tolist()
    for low, high in pairwise(bounds):
        at = order[low:high]
        found[at] = chosen[parent[at]] | found[parent[at]]
    return found


def _op_types(spans: Spans, span: Int64, class_code: npt.NDArray[np.int32]) -> Text:
    names, ops = spans.name.take(span), _per_record(spans, span, _op)
    codes = np.where(class_code == _COMMUNICATION, ops.codes + len(names.values), names.codes)
    return Text(codes.astype(np.int32), [*names.values, *ops.values])


def _per_record(spans: Spans, chosen: Int64, function: Callable[[Name], str | None]) -> Text:
    texts = Text.of([function(name) for name in spans.record])
    return texts.take(spans.record_code[chosen])


def _class_code(name: str | None) -> int:
    return _UNKNOWN if name is None else CLASSES.index(name)


def _group(name: Name) -> str:
    return DEFAULT_GROUP if name.group is None else name.group


def _op(name: Name) -> str:
    plain = _plain(name.text if name.op is None else name.op)
    found = next((op for op in _OPS if op in plain), plain)
    return "receive" if found == "recv" else found


def _direction(name: Name) -> str | None:
    plain = _plain(name.text)
    return next((direction for direction, words in _DIRECTIONS if any(word in plain for word in words)), None)


def _plain(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())
