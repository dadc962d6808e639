"""A10: kernels that took much longer than others of the same type and shape."""

from __future__ import annotations

from typing import Final

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.outliers import OUTLIER_Z, PEERS_AT_LEAST, modified_z_in_sql
from ascend_sn.analysis.registry import Analysis, Need, settled_once
from ascend_sn.analysis.relations import Result, selected
from ascend_sn.model.kinds import COMPUTE_KINDS

__all__ = ["ANALYSIS", "slow_instances"]

OUTLIER_RATIO: Final = 1.3
"""Times the median of its cohort that a duration must exceed as well."""


def slow_instances(db: DuckDBPyConnection) -> Result:
    """Compare each compute kernel with its cohort: same profile, operator type (or name), core and shapes.

    In a profile that has shapes, kernels without them have no cohort; elsewhere the name alone makes one.

    Args:
        db: A connection with the tables `kernel` and `step`.

    Returns:
        One row per kernel beyond 1.3 times the median of its cohort with a modified z score beyond 3.5:
        profile_id, rank, kernel_id, step_id, step, op_type, input_shapes, output_shapes, ts_ns, dur_ns,
        median_ns, robust_z, excess_ns = dur_ns - median_ns, cohort_count (kernels in the cohort),
        cohort_share_ratio (of the cohort's summed time that is excess of its slow kernels); sorted by profile
        and excess.
    """
    return settled_once("slow_instances", db, lambda: _slow(db))


def _slow(db: DuckDBPyConnection) -> Result:
    return selected(
        db,
        f"""
        with busy as (
            select profile_id, kernel_id, dur_ns,
                   hash(coalesce(op_type, name), core_type, input_shapes, output_shapes) as cohort
            from kernel
            where kind in {COMPUTE_KINDS}
              and (input_shapes is not null
                   or profile_id not in (select profile_id from kernel where input_shapes is not null))
        ),
        middle as (
            select profile_id, cohort,
                   median(dur_ns) as median_ns, count(*) as cohort_count, sum(dur_ns)::bigint as cohort_ns
            from busy
            group by profile_id, cohort
            having count(*) >= {PEERS_AT_LEAST}
        ),
        spread as (
            select profile_id, cohort, median(abs(dur_ns - median_ns)) as deviation_ns
            from busy
            join middle using (profile_id, cohort)
            group by profile_id, cohort
        ),
        scored as (
            select profile_id, kernel_id, cohort, dur_ns, median_ns, cohort_count, cohort_ns,
                   {modified_z_in_sql("dur_ns", "median_ns", "deviation_ns", least="1")} as robust_z
            from busy
            join middle using (profile_id, cohort)
            join spread using (profile_id, cohort)
        )
        select scored.profile_id, kernel.rank, kernel_id, kernel.step_id, step.step,
               coalesce(kernel.op_type, kernel.name)    as op_type,
               kernel.input_shapes, kernel.output_shapes, kernel.ts_ns, scored.dur_ns,
               round(median_ns)::bigint                 as median_ns,
               robust_z,
               round(scored.dur_ns - median_ns)::bigint as excess_ns,
               cohort_count,
               sum(scored.dur_ns - median_ns) over (partition by scored.profile_id, cohort) / cohort_ns
                                                        as cohort_share_ratio
        from scored
        join kernel using (profile_id, kernel_id)
        left join (select profile_id, step_id, step from step) step
            on step.profile_id = scored.profile_id and step.step_id = kernel.step_id
        where robust_z > {OUTLIER_Z} and scored.dur_ns > {OUTLIER_RATIO} * median_ns
        order by scored.profile_id, excess_ns desc, kernel_id
    """,
    )


ANALYSIS = Analysis(
    code="A10",
    name="slow_instances",
    title="Slow kernels among equals",
    per_profile=slow_instances,
    needs=(Need("kernel"),),
)
