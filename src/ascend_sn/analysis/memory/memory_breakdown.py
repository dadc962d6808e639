"""A20 by parts: what memory is for, by categories of tensors or by modules of the device's software."""

from __future__ import annotations

from typing import Final, NamedTuple

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, selected
from ascend_sn.model.memory_parts import MEMORY_CATEGORIES, MODULE_PREFIX

__all__ = ["ANALYSIS", "PartCurve", "memory_breakdown", "memory_part_curves"]

_NAMED: Final = ", ".join(f"'{name}'" for name in MEMORY_CATEGORIES)

_PARTS: Final = f"""
    parts as (
        select profile_id, any_value(rank) as rank,
               case when component in ({_NAMED}) then 'category' else 'module' end as family,
               if(component in ({_NAMED}), component, substr(component, {len(MODULE_PREFIX) + 1})) as part,
               ts_ns, max(coalesce(allocated_bytes, reserved_bytes)) as level_bytes
        from memory_sample
        where (component in ({_NAMED}) or starts_with(component, '{MODULE_PREFIX}'))
          and coalesce(allocated_bytes, reserved_bytes) is not null
        group by profile_id, component, ts_ns
    ),
    changes as (
        select profile_id, family, ts_ns,
               level_bytes - coalesce(lag(level_bytes) over of_part, 0) as change_bytes
        from parts
        window of_part as (partition by profile_id, family, part order by ts_ns)
    ),
    totals as (
        select profile_id, family, ts_ns,
               sum(sum(change_bytes)) over (partition by profile_id, family order by ts_ns) as total_bytes
        from changes
        group by profile_id, family, ts_ns
    )
"""
"""A part of a query: levels of parts that make up one whole, and their sum at each moment."""


def memory_breakdown(db: DuckDBPyConnection) -> Result:
    """Divide memory at its highest into parts: categories of tensors, or modules of the device's software.

    Categories are those of PyTorch's memory profiler (allocated), modules those of npu_module_mem (reserved). A part
    stays at its last level until its next sample; of several samples of a part at one moment the highest counts.

    Args:
        db: A connection with the table `memory_sample`.

    Returns:
        profile_id, rank, family (category or module), part (its name), held_bytes (at the moment when all parts of the
        family hold most together), share_ratio = held_bytes / whole_bytes, part_peak_bytes (the most that the part
        holds at any time), whole_bytes (held by all parts at that moment), peak_ts_ns (that moment; the first of
        several); parts that never hold anything are left out; by profile, family and size.
    """
    return selected(
        db,
        f"""
        with {_PARTS},
        peaks as (
            select profile_id, family, max(total_bytes) as whole_bytes,
                   arg_max(ts_ns, (total_bytes, -ts_ns)) as peak_ts_ns
            from totals
            group by profile_id, family
        )
        select profile_id, any_value(rank) as rank, family, part,
               coalesce(arg_max(level_bytes, ts_ns) filter (where ts_ns <= peak_ts_ns), 0) as held_bytes,
               held_bytes / nullif(any_value(whole_bytes), 0)::double as share_ratio,
               max(level_bytes) as part_peak_bytes,
               least(any_value(whole_bytes), 9223372036854775807)::bigint as whole_bytes,
               any_value(peak_ts_ns) as peak_ts_ns
        from parts
        join peaks using (profile_id, family)
        group by profile_id, family, part
        having part_peak_bytes > 0
        order by profile_id, family, held_bytes desc, part
    """,
    )


class PartCurve(NamedTuple):
    """What a part holds at each of some moments: `ts_ns` and `held_bytes` are of one length."""

    part: str
    ts_ns: list[int]
    held_bytes: list[int]


def memory_part_curves(
    db: DuckDBPyConnection, *, profile_id: int, family: str, begin_ns: int | None, end_ns: int | None, points: int
) -> list[PartCurve]:
    """Return the levels of all parts of a family at the same moments, so that they may be stacked.

    Of each of `points` intervals of equal length it is the moment when all parts hold most together.

    Args:
        db: A connection with the table `memory_sample`.
        profile_id: The profile.
        family: category or module.
        begin_ns: From this moment on; None: from the first sample.
        end_ns: To this moment; None: to the last sample.
        points: Number of intervals.

    Returns:
        Parts by the most they hold, then by name; those that never hold anything are left out.
    """
    rows = db.execute(
        f"""
        with {_PARTS},
        span as (
            select coalesce($begin, min(ts_ns)) as begin_ns, coalesce($end, max(ts_ns)) as end_ns
            from totals
            where profile_id = $profile and family = $family
        ),
        moments as (
            select arg_max(ts_ns, (total_bytes, -ts_ns)) as ts_ns
            from totals, span
            where profile_id = $profile and family = $family and ts_ns between begin_ns and end_ns
            group by least((ts_ns - begin_ns)::hugeint * $points // greatest(end_ns - begin_ns, 1), $points - 1)
        ),
        named as (
            select part, max(level_bytes) as peak_bytes
            from parts
            where profile_id = $profile and family = $family
            group by part
            having peak_bytes > 0
        ),
        own as (
            select part, ts_ns, level_bytes from parts where profile_id = $profile and family = $family
        )
        select moment.part, moment.ts_ns, coalesce(own.level_bytes, 0)
        from (select named.part, named.peak_bytes, moments.ts_ns from named, moments) moment
        asof left join own on moment.part = own.part and moment.ts_ns >= own.ts_ns
        order by moment.peak_bytes desc, moment.part, moment.ts_ns
        """,
        {"profile": profile_id, "family": family, "begin": begin_ns, "end": end_ns, "points": points},
    ).fetchall()
    curves: dict[str, PartCurve] = {}
    for part, ts_ns, held in rows:
        curve = curves.setdefault(part, PartCurve(part, [], []))
        curve.ts_ns.append(ts_ns)
        curve.held_bytes.append(held)
    return list(curves.values())


ANALYSIS = Analysis(
    code="A20",
    name="memory_breakdown",
    title="Memory by its parts",
    per_profile=memory_breakdown,
    needs=(Need("memory_sample"),),
)
