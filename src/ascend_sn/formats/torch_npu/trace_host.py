"""Host side of a trace: operators, CANN calls, the task queue, Python frames, ranges, steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ascend_sn._native.nesting import enclosing
from ascend_sn.formats.torch_npu.host_rows import (
    LEVELS,
    frames_of,
    is_step,
    item_list,
    queue_flows,
    step_number_of,
    step_rows,
)
from ascend_sn.formats.torch_npu.matching import lookup, lookup_rows
from ascend_sn.formats.torch_npu.text_columns import either
from ascend_sn.formats.torch_npu.trace_events import Codes, TraceEvents
from ascend_sn.formats.torch_npu.trace_processes import EventClasses
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Int64, Nullable, Rows, Text, concatenate, conform
from ascend_sn.model.tables import FLOW, HOST_CALL, OPERATOR, SPAN, STACK
from ascend_sn.model.times import possible_times

__all__ = ["TraceHost", "checked", "enclosing_call", "flow_ends", "operator_starts", "read_trace_host"]


@dataclass(frozen=True)
class TraceHost:
    """Host tables, and the positions of their events to link device tasks to them.

    Attributes:
        tables: operator, host_call, step, span, stack, flow.
        operators: Event of each operator.
        calls: Event of each CANN call, whose host_call_id is `first_call` + position.
        connection: Code of the connection id of each CANN call.
    """

    tables: dict[str, Rows]
    operators: Int64
    calls: Int64
    first_call: int
    connection: Codes


def read_trace_host(events: TraceEvents, classes: EventClasses, file: str, ledger: Ledger) -> TraceHost:
    """Return the host tables of a trace; slices of impossible times are left out and counted."""
    named = events.text(events.name[classes.operators])
    marks = named.where(is_step)
    operators = checked(events, classes.operators[~marks], file, ledger)
    steps = checked(events, classes.operators[marks], file, ledger)
    queues = checked(events, classes.queues, file, ledger)
    calls = checked(events, classes.calls, file, ledger)
    connection = events.argument_codes("connection_id", calls)
    stack, stack_id = _stacks(events, operators)
    tables = {
        "operator": _operators(events, operators, stack_id),
        "host_call": _host_calls(events, queues, calls, connection, checked(events, classes.collections, file, ledger)),
        "step": _steps(events, steps),
        "span": _spans(events, classes, file, ledger),
        "stack": stack,
        "flow": concatenate(FLOW, [_queue_flows(events, queues), _forward_backward(events, operators)]),
    }
    return TraceHost(tables, operators, calls, len(queues), connection)


def operator_starts(events: TraceEvents, operators: Int64, tid: Codes, ts: Int64) -> Int64:
    """Return the operator that starts on a thread at a moment, the innermost of several; -1 for none."""
    if not len(tid):
        return np.zeros(0, np.int64)
    inner_first = np.argsort(events.dur[operators], kind="stable")
    ranked = operators[inner_first]
    found = lookup_rows((events.tid[ranked], tid), (events.ts[ranked], ts))
    return np.where(found >= 0, inner_first[found] if len(inner_first) else -1, -1)


def flow_ends(events: TraceEvents, category: str) -> tuple[Int64, Int64]:
    """Return positions of the flow ends of a category and of the start each belongs to; lone ends are left out."""
    starts, ends = (
        index[events.category.take(index).matches([category])] for index in (events.flow_starts, events.flow_finishes)
    )
    found = lookup(events.id[starts].astype(np.int64), events.id[ends].astype(np.int64))
    paired = (found >= 0) & (events.id[ends] >= 0)
    return ends[paired], starts[found[paired]]


def enclosing_call(events: TraceEvents, calls: Int64, tid: Codes, ts: Int64) -> Int64:
    """Return the position in `calls` of the innermost call open on a thread at a moment, -1 for none."""
    if not len(calls):
        return np.full(len(ts), -1, np.int64)
    return enclosing(events.tid[calls], events.ts[calls], events.dur[calls], tid, ts)


def checked(events: TraceEvents, index: Int64, file: str, ledger: Ledger) -> Int64:
    """Return the positions without those of impossible times, which go to the ledger."""
    possible = possible_times(events.ts[index], events.dur[index])
    if not possible.all():
        name = events.strings[events.name[index[~possible][0]]]
        ledger.add(file, "impossible_time", count=int((~possible).sum()), example=name)
    return index[possible]


def _operators(events: TraceEvents, index: Int64, stack_id: Nullable) -> Rows:
    return conform(
        OPERATOR,
        len(index),
        operator_id=np.arange(len(index), dtype=np.int64),
        thread=events.text(events.tid[index]),
        name=events.text(events.name[index]),
        ts_ns=events.ts[index],
        dur_ns=events.dur[index],
        module=events.argument_text("Module Hierarchy", index).mapped(frames_of),
        input_shapes=events.argument_text("Input Dims", index).mapped(item_list),
        input_dtypes=events.argument_text("Input type", index).mapped(item_list),
        stack_id=stack_id,
    )


def _stacks(events: TraceEvents, operators: Int64) -> tuple[Rows, Nullable]:
    stacks = events.argument_text("Call stack", operators).mapped(frames_of)
    rows = conform(
        STACK, len(stacks.values), stack_id=np.arange(len(stacks.values), dtype=np.int64), frames=list(stacks.values)
    )
    return rows, Nullable(stacks.codes.astype(np.int64), stacks.codes >= 0)


def _host_calls(events: TraceEvents, queues: Int64, calls: Int64, connection: Codes, collections: Int64) -> Rows:
    # `AscendCL@aclrtMemcpyAsync`: level and name; a Dequeue keeps what it does (`Dequeue@aclnnAdd`).
    names = events.text(events.name[calls])
    front = names.mapped(lambda name: name.partition("@")[0] if "@" in name else None)
    level = either(events.argument_text("level", calls), front).mapped(lambda word: LEVELS.get(word, word))
    parts = [
        _calls(events, queues, "queue", events.text(events.name[queues])),
        conform(
            HOST_CALL,
            len(calls),
            thread=events.text(events.tid[calls]),
            level=level,
            name=names.mapped(lambda name: name.partition("@")[2] or name),
            ts_ns=events.ts[calls],
            dur_ns=events.dur[calls],
            connection=events.text(connection),
        ),
        _calls(events, collections, "gc", events.text(events.name[collections])),
    ]
    rows = concatenate(HOST_CALL, parts)
    return rows.replace(host_call_id=np.arange(len(rows), dtype=np.int64))


def _calls(events: TraceEvents, index: Int64, level: str, name: Text) -> Rows:
    return conform(
        HOST_CALL,
        len(index),
        thread=events.text(events.tid[index]),
        level=level,
        name=name,
        ts_ns=events.ts[index],
        dur_ns=events.dur[index],
    )


def _steps(events: TraceEvents, index: Int64) -> Rows:
    numbers = [step_number_of(name or "") for name in events.text(events.name[index]).decode()]
    valid = np.array([number is not None for number in numbers], np.bool_)
    number = Nullable(np.array([number or 0 for number in numbers], np.int64), valid)
    return step_rows(number, events.ts[index], events.dur[index])


def _spans(events: TraceEvents, classes: EventClasses, file: str, ledger: Ledger) -> Rows:
    parts = []
    for index, domain in ((classes.frames, "python"), (classes.ranges, None)):
        kept = checked(events, index, file, ledger)
        parts.append(
            conform(
                SPAN,
                len(kept),
                name=events.text(events.name[kept]),
                domain=domain if domain is not None else _range_domain(events.text(events.cat[kept])),
                thread=events.text(events.tid[kept]),
                ts_ns=events.ts[kept],
                dur_ns=events.dur[kept],
            )
        )
    rows = concatenate(SPAN, parts)
    return rows.replace(span_id=np.arange(len(rows), dtype=np.int64))


def _range_domain(category: Text) -> Text:
    marks = category.where(lambda word: "tx" in word.lower())
    return Text(marks.astype(np.int32), ["annotation", "mstx"])


def _queue_flows(events: TraceEvents, queues: Int64) -> Rows:
    return queue_flows(events.text(events.name[queues]), events.argument_integers("correlation_id", queues))


def _forward_backward(events: TraceEvents, operators: Int64) -> Rows:
    ends, starts = flow_ends(events, "fwdbwd")
    source = operator_starts(events, operators, events.tid[starts], events.ts[starts])
    target = operator_starts(events, operators, events.tid[ends], events.ts[ends])
    both = (source >= 0) & (target >= 0)
    return conform(
        FLOW,
        int(both.sum()),
        src_table="operator",
        src_id=source[both],
        dst_table="operator",
        dst_id=target[both],
        kind="fwdbwd",
    )
