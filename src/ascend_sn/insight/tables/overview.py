"""The tables of the overview: steps, causes of free time, use of the chip, groups and the map of ranks."""

from __future__ import annotations

from typing import Final

from ascend_sn.analysis.registry import Need
from ascend_sn.insight.tables.definition import PageTable, Slices

__all__ = ["OVERVIEW"]

OVERVIEW: Final = (
    PageTable(
        name="steps",
        analysis="step_breakdown",
        columns=(
            "profile_id", "rank", "step_id", "step", "scope", "origin", "ts_ns", "window_ns", "compute_ns",
            "overlapped_ns", "exposed_comm_ns", "exposed_copy_ns", "free_ns", "bubble_ns",
        ),
        order="profile_id, ts_ns",
        slices=Slices("step", "step_id"),
    ),
    PageTable(
        name="free_time_causes",
        analysis="free_time_causes",
        columns=("profile_id", "rank", "step", "scope", "cause", "cause_ns", "free_ns"),
        order="cause_ns desc, profile_id",
        search=("cause",),
    ),
    PageTable(
        name="mfu",
        sql="select * from {mfu} where coalesce(counted_flops, model_flops, hfu_ratio, mfu_ratio) is not null",
        uses=("mfu",),
        needs=(Need("kernel", "input_shapes", alternatives=("operator.input_shapes",)),),
        columns=(
            "profile_id", "rank", "chip", "dtype", "steps", "window_ns", "peak_flops_per_s", "counted_flops",
            "hfu_ratio", "model_flops", "mfu_ratio",
        ),
        order="profile_id nulls last",
    ),
    PageTable(
        name="parallel_groups",
        is_summed=True,
        sql="""
            select group_id, any_value(kind) as kind, max(group_size) as group_size,
                   bool_and(size_is_exact) as size_is_exact,
                   array_to_string(list_sort(list_distinct(list(member_rank))), ', ') as member_ranks
            from comm_group_member
            group by group_id
        """,
        needs=(Need("comm_group_member"),),
        columns=("group_id", "kind", "group_size", "size_is_exact", "member_ranks"),
        order="kind nulls last, group_id",
        search=("group_id", "kind", "member_ranks"),
    ),
    PageTable(
        name="rank_map",
        is_summed=True,
        uses=("step_breakdown",),
        sql="""
            with spent as (
                select profile_id, any_value(rank) as rank, count(step_id) as step_count,
                       arg_max(step_id, window_ns) as step_id, round(avg(window_ns))::bigint as window_ns,
                       round(avg(compute_ns))::bigint as compute_ns,
                       round(avg(exposed_comm_ns))::bigint as exposed_comm_ns,
                       round(avg(free_ns))::bigint as free_ns
                from {step_breakdown}
                group by profile_id
            ),
            place as (
                select member.profile_id, kind, arg_max(group_id, (group_size, group_id)) as group_id,
                       arg_max(group_rank, (group_size, group_id)) as group_rank
                from comm_group_member member
                join profile using (profile_id)
                where member_rank = profile.rank and group_rank is not null and group_size > 1
                group by member.profile_id, kind
            )
            select spent.*, tp.group_rank as tp_place, pp.group_rank as pp_place, dp.group_rank as dp_place,
                   cp.group_rank as cp_place, ep.group_rank as ep_place, tp.group_id as tp_group,
                   pp.group_id as pp_group, dp.group_id as dp_group, cp.group_id as cp_group, ep.group_id as ep_group
            from spent
            left join (from place where kind = 'tp') tp using (profile_id)
            left join (from place where kind = 'pp') pp using (profile_id)
            left join (from place where kind = 'dp') dp using (profile_id)
            left join (from place where kind = 'cp') cp using (profile_id)
            left join (from place where kind = 'ep') ep using (profile_id)
        """,
        columns=(
            "profile_id", "rank", "step_id", "pp_place", "dp_place", "cp_place", "tp_place", "ep_place", "step_count",
            "window_ns", "compute_ns", "exposed_comm_ns", "free_ns", "pp_group", "dp_group", "cp_group", "tp_group",
            "ep_group",
        ),
        order="rank nulls last, profile_id",
        search=("pp_group", "dp_group", "cp_group", "tp_group", "ep_group"),
        slices=Slices("step", "step_id"),
    ),
)  # fmt: skip
