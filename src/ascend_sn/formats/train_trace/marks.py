"""Rows that are not spans: steps, logged values, samples, memory, framework operators, groups."""

from __future__ import annotations

from typing import Final

import numpy as np

from ascend_sn.formats.train_trace.names import Name, Names
from ascend_sn.formats.train_trace.stream import Events
from ascend_sn.model.rows import Int64, Nullable, Rows, Text, conform
from ascend_sn.model.tables import COMM_GROUP_MEMBER, COUNTER, HOST_CALL, MEMORY_EVENT, METRIC, OPERATOR, STEP
from ascend_sn.model.trace_schema import COLLECTION_CATEGORY, COLLECTION_NAME, DEFAULT_GROUP, NOT_GIVEN

__all__ = ["collection_rows", "counter_rows", "group_rows", "memory_rows", "metric_rows", "operator_rows", "step_rows"]

_MAX_MEMBERS: Final = 1_000_000


def step_rows(marks: Events, names: Names, session_start: Int64, activity: Int64) -> Rows:
    """Return the steps in time order.

    A program that calls `step()` at the top of its loop marks an empty stretch before the first one: the
    first step of a session is left out when nothing was recorded in it, unless it was found and not marked.

    Args:
        marks: Rows of kind STEP.
        names: Texts of the trace.
        session_start: Start of each session, ascending.
        activity: Start of every span and logged value, ascending.
    """
    marks = marks.take(np.argsort(marks.ts_ns, kind="stable"))
    session = np.maximum(np.searchsorted(session_start, marks.ts_ns, side="right") - 1, 0)
    is_first = np.append(True, session[1:] != session[:-1])[: len(marks)]
    inside = np.searchsorted(activity, marks.ts_ns + marks.dur_ns) - np.searchsorted(activity, marks.ts_ns)
    kept = ~is_first | (inside > 0) | (marks.name_id != NOT_GIVEN)
    marks, session = marks.take(kept), session[kept]
    return conform(
        STEP,
        len(marks),
        step_id=np.arange(len(marks)),
        step=marks.value,
        epoch=Nullable(marks.ref, marks.ref != NOT_GIVEN),
        session=session,
        ts_ns=marks.ts_ns,
        dur_ns=marks.dur_ns,
        origin=_origins(marks.name_id, names),
    )


def _origins(name_id: Int64, names: Names) -> Text:
    named = np.where(name_id == NOT_GIVEN, 0, 1)
    found = names.column(name_id[named == 1])
    codes = np.zeros(len(name_id), np.int32)
    codes[named == 1] = found.codes + 1
    return Text(codes, ["mark", *found.values])


def metric_rows(values: Events, names: Names, steps: Rows) -> Rows:
    """Return the logged values in time order, each with the number of the step it was logged in."""
    values = values.take(np.argsort(values.ts_ns, kind="stable"))
    start = steps.values("ts_ns")
    at = np.searchsorted(start, values.ts_ns, side="right") - 1
    ends = np.append(start + steps.values("dur_ns"), np.int64(0))
    numbers = np.append(steps.values("step"), np.int64(0))
    return conform(
        METRIC,
        len(values),
        name=names.column(values.name_id),
        step=Nullable(numbers[at], (at >= 0) & (values.ts_ns <= ends[at])),
        ts_ns=values.ts_ns,
        value=values.value.view(np.float64),
    )


def counter_rows(samples: Events, names: Names) -> Rows:
    """Return the samples in file order."""
    return conform(
        COUNTER,
        len(samples),
        name=names.column(samples.name_id),
        unit=names.column(samples.name_id, "unit"),
        ts_ns=samples.ts_ns,
        value=samples.value.view(np.float64),
    )


def collection_rows(collections: Events, thread: Text) -> Rows:
    """Return Python's garbage collections, by start."""
    order = np.argsort(collections.ts_ns, kind="stable")
    collections = collections.take(order)
    return conform(
        HOST_CALL,
        len(collections),
        host_call_id=np.arange(len(collections)),
        thread=thread.take(order),
        level=COLLECTION_CATEGORY,
        name=COLLECTION_NAME,
        ts_ns=collections.ts_ns,
        dur_ns=collections.dur_ns,
    )


def memory_rows(events: Events, names: Names) -> Rows:
    """Return allocations and frees in time order."""
    events = events.take(np.argsort(events.ts_ns, kind="stable"))
    known = np.flatnonzero(events.name_id != NOT_GIVEN)
    operator = names.column(events.name_id[known])
    codes = np.full(len(events), -1, np.int32)
    codes[known] = operator.codes
    return conform(
        MEMORY_EVENT,
        len(events),
        ts_ns=events.ts_ns,
        kind=Text((events.value < 0).astype(np.int32), ("alloc", "free")),
        size_bytes=np.abs(events.value),
        address=[None if address == NOT_GIVEN else hex(address & (1 << 64) - 1) for address in events.ref.tolist()],
        operator_name=Text(codes, operator.values),
    )


def operator_rows(calls: Events, thread: Text, names: Names) -> Rows:
    """Return the operators that a framework ran, by start, outer before inner."""
    order = np.lexsort((-calls.dur_ns, calls.ts_ns))
    calls, thread = calls.take(order), thread.take(order)
    described = ("module", "input_shapes", "input_dtypes", "output_shapes", "output_dtypes")
    return conform(
        OPERATOR,
        len(calls),
        operator_id=np.arange(len(calls)),
        thread=thread,
        name=names.column(calls.name_id),
        ts_ns=calls.ts_ns,
        dur_ns=calls.dur_ns,
        **{column: names.column(calls.name_id, column) for column in described},
    )


def group_rows(collectives: list[Name], rank: int | None, world_size: int | None) -> Rows:
    """Return the members of every group that a collective names; the default group is the whole job."""
    members: dict[str, list[int]] = {}
    for name in collectives:
        group = DEFAULT_GROUP if name.group is None else name.group
        ranks = name.ranks
        if ranks is None and group == DEFAULT_GROUP and world_size is not None and world_size <= _MAX_MEMBERS:
            ranks = list(range(world_size))
        if ranks and (rank is None or rank in ranks):
            members.setdefault(group, ranks)
    rows = [
        (group, place, len(ranks), member) for group, ranks in members.items() for place, member in enumerate(ranks)
    ]
    return conform(
        COMM_GROUP_MEMBER,
        len(rows),
        group_id=[row[0] for row in rows],
        kind=["default" if row[0] == DEFAULT_GROUP else None for row in rows],
        group_rank=[row[1] for row in rows],
        group_size=[row[2] for row in rows],
        size_is_exact=True,
        member_rank=[row[3] for row in rows],
    )
