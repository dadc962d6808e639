"""Which rows of which table lie on which lane of a timeline: the one definition, for the viewer and for exports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from ascend_sn.model.requests import REQUEST_DOMAIN, REQUEST_PHASE_DOMAIN

__all__ = [
    "COUNTERS", "LANES", "OVERLAP", "CounterKind", "LaneKind", "Side", "kind_query", "lane_of", "lane_query",
]  # fmt: skip

Side = Literal["marks", "requests", "host", "device", "communication", "overlap", "counter"]

OVERLAP: Final = "overlap"
"""Stands in the place of a table for lanes that are worked out: which class of activity a device is in."""


@dataclass(frozen=True)
class LaneKind:
    """Lanes made of one table; the texts but the first three are SQL on its columns.

    `category` is none of PyTorch's words: a reader must not take an exported trace for one of its profiler.

    Attributes:
        table: The table.
        side: Where its lanes stand.
        category: What an export calls its slices.
        lane: Name of the lane that a row lies on, in English and whole.
        group: What the lanes are grouped by (a device, for instance); null where there is nothing to tell.
        label: What tells the lanes of a group apart (a stream, for instance).
        name: Name of the slice.
        kind: Class of the slice, for colours.
        key: Column by which `flow` and other tables name the row; empty where it has none.
        shown: Further columns that an export writes.
        condition: Which rows of the table lie on these lanes, as SQL.
        is_apart: Whether one slice never lies inside another, however their times do: they are dealt to as few rows
            as needed.
    """

    table: str
    side: Side
    category: str
    lane: str
    group: str
    label: str
    name: str
    kind: str
    key: str
    shown: tuple[str, ...]
    condition: str = "true"
    is_apart: bool = False


_ANY_REQUEST: Final = f"('{REQUEST_DOMAIN}', '{REQUEST_PHASE_DOMAIN}')"

LANES: Final = (
    LaneKind(
        table="step",
        side="marks",
        category="steps",
        lane="'Steps'",
        group="null",
        label="null",
        name="coalesce('step ' || step, 'step')",
        kind="'step'",
        key="step_id",
        shown=("origin", "epoch"),
    ),
    LaneKind(
        table="span",
        side="marks",
        category="marks",
        lane="'Marks' || coalesce(' ' || domain, '') || coalesce(' (thread ' || thread || ')', '')",
        group="domain",
        label="thread",
        name="name",
        kind="kind",
        key="span_id",
        shown=("kind",),
        condition=f"coalesce(domain, '') not in {_ANY_REQUEST}",
    ),
    LaneKind(
        table="span",
        side="requests",
        category="requests",
        lane="'Requests'",
        group=f"'{REQUEST_DOMAIN}'",
        label="null",
        name="name",
        kind="'request'",
        key="span_id",
        shown=("thread",),
        condition=f"domain = '{REQUEST_DOMAIN}'",
        is_apart=True,
    ),
    LaneKind(
        table="span",
        side="requests",
        category="phases of requests",
        lane="'Requests' || coalesce(', ' || name, '')",
        group=f"'{REQUEST_PHASE_DOMAIN}'",
        label="name",
        name="name",
        kind="case when lower(name) in ('queue', 'prefill', 'decode') then lower(name) end",
        key="span_id",
        shown=("thread",),
        condition=f"domain = '{REQUEST_PHASE_DOMAIN}'",
        is_apart=True,
    ),
    LaneKind(
        table="operator",
        side="host",
        category="operators",
        lane="'Operators' || coalesce(' (thread ' || thread || ')', '')",
        group="null",
        label="thread",
        name="name",
        kind="phase",
        key="operator_id",
        shown=("phase", "module", "input_shapes", "input_dtypes"),
    ),
    LaneKind(
        table="host_call",
        side="host",
        category="calls",
        lane="coalesce(level, 'Calls') || coalesce(' (thread ' || thread || ')', '')",
        group="level",
        label="thread",
        name="name",
        kind="level",
        key="host_call_id",
        shown=(),
    ),
    LaneKind(
        table="kernel",
        side="device",
        category="kernels",
        lane="'Device ' || coalesce(device_id, 0) || coalesce(', stream ' || stream, '')",
        group="coalesce(device_id, 0)::varchar",
        label="stream",
        name="name",
        kind="kind",
        key="kernel_id",
        shown=(
            "op_type",
            "kind",
            "core_type",
            "step_id",
            "wait_ns",
            "input_shapes",
            "input_dtypes",
            "input_formats",
            "copy_direction",
            "size_bytes",
        ),
    ),
    LaneKind(
        table="collective",
        side="communication",
        category="collectives",
        lane="'Communication' || coalesce(', group ' || group_id, '')",
        group="null",
        label="group_id",
        name="coalesce(name, op)",
        kind="'communication'",
        key="collective_id",
        shown=("op", "group_id", "sequence", "size_bytes", "dtype", "wait_ns", "transit_ns", "idle_ns"),
    ),
    LaneKind(
        table="comm_task",
        side="communication",
        category="tasks",
        lane="'Communication tasks' || coalesce(', stream ' || stream, '')",
        group="null",
        label="stream",
        name="name",
        kind="'communication'",
        key="",
        shown=("collective_id", "size_bytes", "src_rank", "dst_rank", "transport"),
    ),
)
"""In the order in which they are drawn."""


@dataclass(frozen=True)
class CounterKind:
    """Curves made of one column of a table; the texts but the first two are SQL on its columns.

    Attributes:
        table: The table.
        column: The column that holds the values.
        group: What the curves are grouped by.
        label: What tells the curves of the table and column apart.
        unit: Unit of the values.
    """

    table: str
    column: str
    group: str
    label: str
    unit: str


COUNTERS: Final = (
    *(CounterKind("memory_sample", f"{part}_bytes", "component", f"'{part}'", "'bytes'")
      for part in ("allocated", "reserved", "active")),
    *(CounterKind("memory_event", f"{part}_bytes", "device", f"'{part}'", "'bytes'")
      for part in ("allocated", "reserved", "active")),
    CounterKind("counter", "value", "nullif(regexp_replace(name, '/?[^/]*$', ''), '')", "name", "unit"),
    CounterKind("metric", "value", "null", "name", "null"),
)  # fmt: skip


def lane_query(kind: LaneKind) -> str:
    """Return the rows of one profile (`$profile`) as lane, name, ts_ns, dur_ns, and the columns that are written."""
    columns = ", ".join([kind.key, *kind.shown] if kind.key else kind.shown)
    return f"""
        select {kind.lane} as lane, {kind.name} as name, ts_ns, dur_ns{", " if columns else ""}{columns}
        from {kind.table}
        where profile_id = $profile and {kind.condition}
    """


def lane_of(table: str, side: str) -> LaneKind | None:
    """Return what the lanes of a table on a side are made of; None where no rows of a table lie on them."""
    return next((kind for kind in LANES if kind.table == table and kind.side == side), None)


def kind_query(kind: LaneKind | CounterKind) -> str:
    """Return the rows of one profile (`$profile`) that can be drawn, by the words of the viewer.

    Slices come as lane (any text that is another one for another lane), group, label, name, kind, key, ts_ns, dur_ns;
    points of a curve as lane, group, label, unit, value, ts_ns.
    """
    unit = kind.unit if isinstance(kind, CounterKind) else "null"
    parts = (f"({part})::varchar" for part in (kind.group, kind.label, unit))
    group, label, unit = parts
    lane = f"concat_ws(chr(31), coalesce({group}, chr(30)), coalesce({label}, chr(30)), coalesce({unit}, chr(30)))"
    shared = f'{lane} as lane, {group} as "group", {label} as label'
    if isinstance(kind, CounterKind):
        return f"""
            select {shared}, {unit} as unit, ({kind.column})::double as value, ts_ns
            from {kind.table}
            where profile_id = $profile and ts_ns is not null and {kind.column} is not null
        """
    return f"""
        select {shared}, coalesce({kind.name}, '') as name, coalesce({kind.kind}, 'other') as kind,
               {kind.key or "collective_id"} as key, ts_ns, dur_ns
        from {kind.table}
        where profile_id = $profile and ts_ns is not null and dur_ns >= 0 and {kind.condition}
    """
