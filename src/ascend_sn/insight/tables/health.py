"""The tables of the health page: damage, coverage, captures, clocks and checks."""

from __future__ import annotations

from typing import Final

from ascend_sn.insight.tables.definition import Filter, PageTable

__all__ = ["HEALTH"]

HEALTH: Final = (
    PageTable(
        name="damage",
        is_summed=True,
        sql="select * from damage",
        columns=("profile_id", "rank", "file", "place", "kind", "severity", "count", "example"),
        order="severity, profile_id, file, kind",
        search=("file", "kind", "example"),
        filters=(Filter("severity", "text", "severity = $severity"),),
    ),
    PageTable(
        name="coverage",
        is_summed=True,
        sql="select * from coverage",
        columns=("profile_id", "rank", "table_name", "column_name", "state", "reason", "turn_on"),
        order="state = 'collected', state, table_name, column_name nulls first, profile_id",
        search=("table_name", "column_name", "state", "reason", "turn_on"),
        filters=(Filter("state", "text", "state = $state"),),
    ),
    PageTable(
        name="profiles",
        is_summed=True,
        sql="""
            select profile.*, coalesce(steps.row_count, 0) as step_count, coalesce(kernels.row_count, 0) as task_count
            from profile
            left join (from page_row_count where table_name = 'step') steps using (profile_id)
            left join (from page_row_count where table_name = 'kernel') kernels using (profile_id)
        """,
        columns=(
            "profile_id", "rank", "host", "pid", "device_kind", "device_id", "device_name", "format", "source",
            "world_size", "step_count", "task_count",
        ),
        order="profile_id",
        search=("host", "device_name", "format", "source"),
    ),
    PageTable(
        name="clocks",
        analysis="clock_offsets",
        columns=("profile_id", "rank", "offset_ns", "error_ns", "calls", "method", "reason"),
        order="profile_id",
    ),
    PageTable(
        name="checks",
        analysis="data_quality",
        columns=("profile_id", "rank", "check", "violations", "checked", "ratio"),
        order="violations desc, profile_id",
        search=("check",),
    ),
)  # fmt: skip
