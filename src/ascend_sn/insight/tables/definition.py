"""What a table of the page is: where its rows come from, which columns it shows, how rows are narrowed and joined."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from ascend_sn.analysis.registry import Need

__all__ = ["MERGED", "OF_STEP", "Filter", "PageTable", "Slices", "Unit", "unit_of"]

Unit = Literal[
    "ns", "at_ns", "bytes", "bytes_per_s", "flops", "flops_per_s", "ratio", "count", "number", "text", "id", "flag"
]
"""`at_ns`: a time from the begin of its profile. `id`: a key that is not shown."""

_UNITS: Final[tuple[tuple[str, Unit], ...]] = (
    ("bytes_per_s", "bytes_per_s"),
    ("flops_per_s", "flops_per_s"),
    ("_ns", "ns"),
    ("_bytes", "bytes"),
    ("_bytes_per_step", "bytes"),
    ("bytes", "bytes"),
    ("_ratio", "ratio"),
    ("_count", "count"),
    ("calls", "count"),
    ("instances", "count"),
    ("violations", "count"),
    ("checked", "count"),
    ("flops", "flops"),
    ("_id", "id"),
)

MERGED: Final = {
    "calls": "sum(calls)::bigint",
    "kernel_count": "sum(kernel_count)::bigint",
    "total_ns": "sum(total_ns)::bigint",
    "mean_ns": "round(sum(total_ns) / nullif(sum(calls), 0))::bigint",
    "min_ns": "min(min_ns)",
    "max_ns": "max(max_ns)",
    "device_ns": "sum(device_ns)::bigint",
    "host_ns": "sum(host_ns)::bigint",
    "mean_device_ns": "round(sum(device_ns) / nullif(sum(calls), 0))::bigint",
    "input_bytes": "sum(input_bytes)::bigint",
    "output_bytes": "sum(output_bytes)::bigint",
    "transit_ns": "sum(transit_ns)::bigint",
    "wait_ns": "sum(wait_ns)::bigint",
    "idle_ns": "sum(idle_ns)::bigint",
    "unknown_ns": "sum(unknown_ns)::bigint",
    "exposed_ns": "sum(exposed_ns)::bigint",
    "overlapped_ns": "sum(overlapped_ns)::bigint",
    "size_bytes": "sum(size_bytes)::bigint",
}
"""How figures of several ranks become one figure, by column; others are left out of a merged table."""


class Filter(msgspec.Struct, frozen=True):
    """A parameter that narrows a table: a condition in SQL on `$name`."""

    name: str
    type: Literal["integer", "text"]
    condition: str


OF_STEP: Final = Filter("step_id", "integer", "step_id = $step_id")
"""Narrows rows to one step of their profile."""


class Slices(msgspec.Struct, frozen=True):
    """Which slices of the timeline the rows stand for: `table`, and the column that holds its key."""

    table: str
    key: str


class PageTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table of the page.

    Attributes:
        name: Its name in the address.
        analysis: The analysis whose rows it shows; empty where `sql` makes them.
        sql: A query on the tables of a run, in which `{NAME}` stands for the rows of an analysis of `uses`.
        is_kept: Whether the rows are kept between two requests; large tables are read anew.
        is_summed: Whether the summaries of a large job are enough for the query: it reads only `profile`, `step`,
            `damage`, `coverage`, a rank's own rows of `comm_group_member`, and summarised analyses.
        needs: What the query needs; an analysis has needs of its own.
        columns: Columns in their order; those of `at_ns` become times from the begin of the profile.
        order: How rows are sorted unless the reader chooses; made of columns of the source.
        search: Columns in which a text is looked for.
        search_also: A further place to look for it: a condition in SQL on `$contains`.
        joined: A join that adds columns to the rows that are shown, as long texts that are not kept with each row.
        filters: Further parameters; conditions also see `origin_ns`, the begin of the row's profile.
        slices: The slices of the rows, for "show on timeline".
        keys: What rows of two ranks have in common; tables with keys are merged over ranks, or compared.
        share_of: Column whose sum a merged `share_ratio` is of.
    """

    name: str
    columns: tuple[str, ...]
    order: str
    analysis: str = ""
    sql: str = ""
    uses: tuple[str, ...] = ()
    is_kept: bool = True
    is_summed: bool = False
    needs: tuple[Need, ...] = ()
    search: tuple[str, ...] = ()
    search_also: str = ""
    joined: str = ""
    filters: tuple[Filter, ...] = ()
    slices: Slices | None = None
    keys: tuple[str, ...] = ()
    share_of: str = ""


_MOMENTS: Final = frozenset({"ts_ns", "freed_ts_ns", "peak_ts_ns"})
_TEXTS: Final = frozenset({"graph_id", "group_id", "stream_id"})
_NUMBERS: Final = frozenset({
    "rank", "step", "src_rank", "dst_rank", "sequence", "robust_z", "stage", "steps", "depth", "operators",
    "kernels", "block_count", "members", "members_expected", "last_rank", "group_size", "world_size", "pid",
    "flops_per_byte", "ridge_flops_per_byte", "onset_step", "steps_left", "count_per_step", "count", "length",
    "tp_place", "pp_place", "dp_place", "cp_place", "ep_place", "requests", "first_node", "last_node",
    "peak_node", "end_node",
})  # fmt: skip


def unit_of(column: str) -> Unit:
    """Return the unit of a column by its name."""
    if column in _TEXTS:
        return "text"
    if column == "ratio":
        return "ratio"
    if column in _MOMENTS:
        return "at_ns"
    if column.startswith("is_") or column.endswith(("_exact", "_bound")):
        return "flag"
    if column in _NUMBERS:
        return "number"
    return next((unit for ending, unit in _UNITS if column.endswith(ending)), "text")
