"""A03 as the exporter states it: the step trace of the tool that wrote the input, under its own names."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, selected

__all__ = ["ANALYSIS", "PREFIX", "exported_steps"]

PREFIX = "exporter.step_trace."
"""Front of the names of these figures in the table `metric`."""


def exported_steps(db: DuckDBPyConnection) -> Result:
    """Return the exporter's own division of each step; nothing is computed.

    It stands where no kernels are: in the output of a cluster analysis it is all there is. Where kernels are,
    `step_breakdown` divides the steps, and its stage figures match these.

    Args:
        db: A connection with the table `metric`.

    Returns:
        profile_id, rank, step (null where the exporter knew none), device (text, where one process used
        several), figure (the exporter's own name), dur_ns; sorted by these.
    """
    return selected(
        db,
        """
        select profile_id, rank, step,
               nullif(split_part(name[length($prefix) + 1:], '@', 2), '') as device,
               split_part(name[length($prefix) + 1:], '@', 1)             as figure,
               round(value)::bigint                                       as dur_ns
        from metric
        where starts_with(name, $prefix) and value is not null
        order by profile_id, step, device, figure, dur_ns
        """,
        {"prefix": PREFIX},
    )


ANALYSIS = Analysis(
    code="A03",
    name="exported_steps",
    title="Step trace of the exporter",
    per_profile=exported_steps,
    needs=(Need("metric"),),
)
