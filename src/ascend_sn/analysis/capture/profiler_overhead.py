"""A36: what the recording itself cost the program."""

from __future__ import annotations

from typing import Final

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.host.host_calls import classify_calls
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, selected
from ascend_sn.model.trace_schema import FLUSH_METRIC, SPAN_COST_METRIC

__all__ = ["ANALYSIS", "UNPROFILED_STEP_METRIC", "profiler_overhead"]

UNPROFILED_STEP_METRIC: Final = "unprofiled_step_ns"
"""Name under which the program logs the duration of a step without the profiler (`log_metric`)."""


def profiler_overhead(db: DuckDBPyConnection) -> Result:
    """Add up what is known of the profiler's own time.

    Our recorder measures the cost of one span and the time that it spends writing; other profilers leave ranges and
    calls of theirs in the trace (`profiler_flush` of `host_calls.toml`, ranges of the domain `overhead`). Where
    the program logged `unprofiled_step_ns`, the difference to the median recorded step is the true cost, whatever it
    consists of.

    Args:
        db: A connection with the tables `metric`, `span`, `step`, `host_call`, `profile`.

    Returns:
        One row per profile of which any of it is known: profile_id, rank, span_cost_ns (of one), spans
        (recorded ones), span_total_ns = span_cost_ns x spans, flush_ns (writing), calls_ns (the profiler's own
        calls and ranges), overhead_ns (sum of what is known), window_ns (all steps; the recorded ranges from
        first to last where there are none), overhead_ratio (of the window), step_ns (median),
        unprofiled_step_ns (median), step_overhead_ratio = step_ns / unprofiled_step_ns - 1.
    """
    classified = classify_calls(db)
    return selected(
        db,
        f"""
        with logged as (
            select profile_id,
                   median(value) filter (where name = $cost)       as span_cost_ns,
                   fsum(value) filter (where name = $flush)        as flush_ns,
                   median(value) filter (where name = $unprofiled) as unprofiled_step_ns
            from metric
            where name in ($cost, $flush, $unprofiled)
            group by profile_id
        ),
        ranges as (
            select profile_id, count(*) filter (where domain is distinct from 'overhead') as spans,
                   max(ts_ns + dur_ns) - min(ts_ns)                                       as extent_ns
            from span
            group by profile_id
        ),
        own as (
            select profile_id, sum(dur_ns)::bigint as calls_ns
            from (
                select profile_id, dur_ns from {classified} where class = 'profiler_flush'
                union all
                select profile_id, dur_ns from span where domain = 'overhead'
            )
            group by profile_id
        ),
        steps as (
            select profile_id, sum(dur_ns)::bigint as steps_ns, median(dur_ns) as step_ns
            from step
            where origin <> 'inferred'
            group by profile_id
        ),
        costs as (
            select profile.profile_id, profile.rank, span_cost_ns, spans,
                   span_cost_ns * spans                                as span_total_ns,
                   flush_ns, calls_ns,
                   coalesce(span_cost_ns * spans, 0) + coalesce(flush_ns, 0) + coalesce(calls_ns, 0) as overhead_ns,
                   coalesce(steps_ns, extent_ns)                       as window_ns,
                   step_ns, unprofiled_step_ns
            from profile
            left join logged using (profile_id)
            left join ranges using (profile_id)
            left join own using (profile_id)
            left join steps using (profile_id)
            where span_cost_ns is not null or flush_ns is not null or calls_ns is not null
               or unprofiled_step_ns is not null
        )
        select profile_id, rank, span_cost_ns::double as span_cost_ns, spans, span_total_ns::double as span_total_ns,
               flush_ns::double as flush_ns, calls_ns, overhead_ns::double as overhead_ns, window_ns,
               overhead_ns / nullif(window_ns, 0)::double               as overhead_ratio,
               step_ns::double as step_ns, unprofiled_step_ns::double as unprofiled_step_ns,
               step_ns / nullif(unprofiled_step_ns, 0) - 1              as step_overhead_ratio
        from costs
        order by profile_id
        """,
        {"cost": SPAN_COST_METRIC, "flush": FLUSH_METRIC, "unprofiled": UNPROFILED_STEP_METRIC},
    )


ANALYSIS = Analysis(
    code="A36",
    name="profiler_overhead",
    title="Cost of the recording",
    per_profile=profiler_overhead,
    needs=(Need("metric", alternatives=("span", "host_call")),),
)
