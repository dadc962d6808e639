"""What one profile did in one window: slices of its host threads, then tasks of its devices."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection
from msgspec.structs import replace

from ascend_sn.analysis.host.host_calls import class_of_call
from ascend_sn.model.kinds import HOST_KINDS
from ascend_sn.model.rows import Bool, Int64, Text
from ascend_sn.replay.choose import Window

__all__ = ["NOT_GIVEN", "SourceTable", "Tasks", "joined", "load_tasks", "positions"]

NOT_GIVEN: Final = -1
"""In a number column of the tasks: the capture does not say."""


class SourceTable(IntEnum):
    """Table that a task is a row of."""

    OPERATOR = 0
    HOST_CALL = 1
    KERNEL = 2


class Tasks(msgspec.Struct, frozen=True):
    """Host slices and device tasks, one row each; ns since the origin, which is also that of the graph.

    `lane` is the thread, or device and stream; for a kernel whose stream was not recorded (`has_stream` is false)
    device and communicator, sends and receives apart, or device and kind. `kind` is that of a kernel, or the level of a
    host call, `call_class` what a host call does (`analysis.host_calls`). Shapes and types are those of kernels.
    `launcher` is the position of the slice that launched a task, NOT_GIVEN where it is not known. `carried`
    marks tasks of an earlier step that still run in this one.
    """

    table: npt.NDArray[np.uint8]
    profile: Int64
    row_id: Int64
    start: Int64
    end: Int64
    lane: Text
    has_stream: Bool
    name: Text
    kind: Text
    call_class: Text
    op_type: Text
    core_type: Text
    phase: Text
    module: Text
    input_shapes: Text
    input_dtypes: Text
    output_shapes: Text
    output_dtypes: Text
    direction: Text
    size_bytes: Int64
    operator_id: Int64
    launcher: Int64
    carried: Bool

    def __len__(self) -> int:
        return len(self.table)

    @property
    def is_device(self) -> Bool:
        """Which rows are kernels."""
        device: Bool = self.table == SourceTable.KERNEL
        return device


def load_tasks(db: DuckDBPyConnection, window: Window, profile: int, origin_ns: int) -> Tasks:
    """Read the slices and tasks of a window.

    Kernels belong to the step that launched them; those of earlier steps that still run are `carried`, the
    last one of each stream only.

    Args:
        db: A connection with the tables `operator`, `host_call`, `kernel`, `collective`.
        window: The window, in the profile's own clock.
        profile: Number that the rows get as `profile`.
        origin_ns: Moment that becomes 0, in the same clock.
    """
    span = {"profile": window.profile_id, "from": window.start_ns, "to": window.end_ns}
    operators = db.execute(_OPERATORS, span).fetchnumpy()
    calls = db.execute(_CALLS, span).fetchnumpy()
    kernels = db.execute(_KERNELS, {**span, "step": window.step_id}).fetchnumpy()
    parts = [
        _part(SourceTable.OPERATOR, operators, profile, origin_ns),
        _part(SourceTable.HOST_CALL, calls, profile, origin_ns),
        _part(SourceTable.KERNEL, kernels, profile, origin_ns),
    ]
    tasks = joined(parts)
    tasks = replace(tasks, call_class=_call_classes(tasks))
    if window.device_kind in HOST_KINDS:  # nothing is launched there
        return tasks
    launcher = _launchers(parts, _numbers(kernels["host_call_id"]), _numbers(kernels["operator_id"]))
    return replace(tasks, launcher=launcher)


_OPERATORS: Final = """
    select operator_id as row_id, ts_ns, dur_ns, coalesce(thread, '') as lane, name, phase, module, operator_id
    from operator
    where profile_id = $profile and dur_ns >= 0 and ts_ns < $to and ts_ns + dur_ns >= $from
    order by ts_ns, dur_ns desc, operator_id
"""

_CALLS: Final = """
    select host_call_id as row_id, ts_ns, dur_ns, coalesce(thread, '') as lane, name, level as kind
    from host_call
    where profile_id = $profile and dur_ns >= 0 and ts_ns < $to and ts_ns + dur_ns >= $from
    order by ts_ns, dur_ns desc, host_call_id
"""

# Rows that draw how long the host waited are no tasks of a stream. Shapes that a kernel does not state are those of its
# operator, where that launched nothing else.
_KERNELS: Final = """
    with called as (
        select kernel_id, any_value(op) as op, any_value(group_id) as group_id
        from collective
        where profile_id = $profile and kernel_id is not null
        group by kernel_id
    ),
    chosen as (
        select kernel.*,
               coalesce(device_id, 0)::varchar || '/' || coalesce(
                   stream,
                   group_id || case when op in ('send', 'receive') then ' ' || op else '' end,
                   kind
               ) as lane,
               stream is not null as has_stream,
               $step is not null and coalesce(step_id < $step, false) as carried,
               count(*) over (partition by operator_id) = 1 as is_alone
        from kernel
        left join called using (kernel_id)
        where profile_id = $profile and ts_ns is not null and dur_ns >= 0
          and (
              $step is null
              or step_id = $step
              or step_id is null and ts_ns >= $from and ts_ns < $to
              or step_id < $step and ts_ns < $to and ts_ns + dur_ns > $from
          )
          and not (kind = 'sync' and regexp_matches(name, '^(Context|Event|Stream) Sync'))
    )
    select chosen.kernel_id as row_id, chosen.ts_ns, chosen.dur_ns, lane, has_stream, chosen.name, kind, op_type,
           core_type,
           coalesce(chosen.input_shapes, case when is_alone then operator.input_shapes end) as input_shapes,
           coalesce(chosen.input_dtypes, case when is_alone then operator.input_dtypes end) as input_dtypes,
           coalesce(chosen.output_shapes, case when is_alone then operator.output_shapes end) as output_shapes,
           coalesce(chosen.output_dtypes, case when is_alone then operator.output_dtypes end) as output_dtypes,
           copy_direction as direction, size_bytes, operator_id, host_call_id, carried, phase, module
    from chosen
    left join operator using (profile_id, operator_id)
    qualify not carried or row_number() over (partition by lane, carried order by chosen.ts_ns + chosen.dur_ns desc) = 1
    order by chosen.ts_ns, chosen.dur_ns, chosen.kernel_id
"""

_TEXTS: Final = (
    "lane",
    "name",
    "kind",
    "call_class",
    "op_type",
    "core_type",
    "phase",
    "module",
    "input_shapes",
    "input_dtypes",
    "output_shapes",
    "output_dtypes",
    "direction",
)


def joined(parts: list[Tasks]) -> Tasks:
    """Put the tasks of several tables or profiles one after another; `launcher` is moved along."""
    columns: dict[str, Any] = {}
    offsets = np.cumsum([0, *(len(part) for part in parts)])
    for name in Tasks.__struct_fields__:
        values = [getattr(part, name) for part in parts]
        columns[name] = _joined_text(values) if name in _TEXTS else np.concatenate(values)
    columns["launcher"] = np.concatenate(
        [
            np.where(part.launcher >= 0, part.launcher + offset, part.launcher)
            for part, offset in zip(parts, offsets.tolist(), strict=False)
        ]
    )
    return Tasks(**columns)


def _part(table: SourceTable, rows: dict[str, Any], profile: int, origin_ns: int) -> Tasks:
    count = len(rows["row_id"])
    start = _numbers(rows["ts_ns"]) - origin_ns
    absent = np.full(count, NOT_GIVEN, np.int64)
    texts = {name: Text.of(rows[name].tolist()) if name in rows else Text.constant(None, count) for name in _TEXTS}
    return Tasks(
        table=np.full(count, table, np.uint8),
        profile=np.full(count, profile, np.int64),
        row_id=_numbers(rows["row_id"]),
        start=start,
        end=start + _numbers(rows["dur_ns"]),
        size_bytes=_numbers(rows["size_bytes"]) if "size_bytes" in rows else absent,
        operator_id=_numbers(rows["operator_id"]) if "operator_id" in rows else absent,
        launcher=absent,
        has_stream=np.asarray(rows["has_stream"], np.bool_) if "has_stream" in rows else np.zeros(count, np.bool_),
        carried=np.asarray(rows["carried"], np.bool_) if "carried" in rows else np.zeros(count, np.bool_),
        **texts,
    )


def _launchers(parts: list[Tasks], host_call_id: Int64, operator_id: Int64) -> Int64:
    """Return the position of the host call that launched each kernel, else that of the operator."""
    operators, calls, kernels = parts
    by_call = positions(calls.row_id, host_call_id)
    by_operator = positions(operators.row_id, operator_id)
    launcher = np.where(by_call >= 0, by_call + len(operators), by_operator)
    launcher[kernels.carried] = NOT_GIVEN
    return np.concatenate([np.full(len(operators) + len(calls), NOT_GIVEN, np.int64), launcher])


def _call_classes(tasks: Tasks) -> Text:
    calls = np.flatnonzero(tasks.table == SourceTable.HOST_CALL)
    # Codes are shifted by one, so that an absent text is 0.
    level, name = tasks.kind.codes[calls].astype(np.int64) + 1, tasks.name.codes[calls].astype(np.int64) + 1
    levels, names = [None, *tasks.kind.values], [None, *tasks.name.values]
    distinct, at = np.unique(level * len(names) + name, return_inverse=True)
    classes = Text.of(
        [class_of_call(levels[code // len(names)], names[code % len(names)]) for code in distinct.tolist()]
    )
    codes = np.full(len(tasks), -1, np.int32)
    codes[calls] = classes.codes[at]
    return Text(codes, classes.values)


def positions(ids: Int64, wanted: Int64) -> Int64:
    """Return where each wanted id stands, -1 where it does not."""
    if not len(ids):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(ids, kind="stable")
    at = np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)
    found = order[at]
    return np.where(ids[found] == wanted, found, -1).astype(np.int64)


def _numbers(column: npt.NDArray[Any]) -> Int64:
    return np.ma.filled(column, NOT_GIVEN).astype(np.int64)


def _joined_text(parts: list[Text]) -> Text:
    numbers: dict[str, int] = {}
    codes = []
    for part in parts:
        table = [numbers.setdefault(value, len(numbers)) for value in part.values]
        codes.append(np.array([*table, -1], np.int32)[part.codes])
    return Text(np.concatenate(codes), list(numbers))
