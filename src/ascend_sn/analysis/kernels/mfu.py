"""A13: how much of the chips' peak the training uses: of the model's operations (MFU), and of all executed (HFU)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.activity import activities
from ascend_sn.analysis.kernels.chips import Chip, chip_of
from ascend_sn.analysis.kernels.roofline import OperatorGroup, operator_groups
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed, selected
from ascend_sn.analysis.window_rows import outer_windows

__all__ = ["ANALYSIS", "MODEL_FLOPS_METRIC", "combined_mfu", "llm_flops_per_token", "mfu"]

MODEL_FLOPS_METRIC: Final = "model_flops"
"""Name under which a rank logs the operations that the model needs of it in a step (`log_metric`)."""

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "steps": "bigint",
    "window_ns": "bigint",
    "chip": "varchar",
    "dtype": "varchar",
    "peak_flops_per_s": "double",
    "counted_flops": "double",
    "counted_time_ratio": "double",
    "hfu_ratio": "double",
    "model_flops": "double",
    "mfu_ratio": "double",
}


def llm_flops_per_token(
    parameters: float, layers: int, heads: int, head_size: int, sequence_length: int, *, causal: bool = False
) -> float:
    """Return the operations of training a transformer on one token: 6 N + 12 L h q s.

    Forward and backward pass, recomputation left out, a multiply-add counted as two.

    Args:
        parameters: N, parameters that take part in matrix products.
        layers: L, transformer layers.
        heads: h, attention heads.
        head_size: q, elements per head.
        sequence_length: s, tokens per sequence.
        causal: Count only the half of the attention that a causal mask leaves; off by default, as usual for MFU.
    """
    attention = 12 * layers * heads * head_size * sequence_length
    return 6 * parameters + (attention / 2 if causal else attention)


def mfu(db: DuckDBPyConnection, table: Sequence[Chip] | None = None) -> Result:
    """Hold counted and stated operations of each profile against its chip's peak.

    HFU: the operations of matrix products, convolutions and attention that `roofline` counts, recomputation included,
    over the time of all marked steps (or the whole capture) times the peak of the data type that does most of them.
    MFU: the sum of the logged values `model_flops`, which state what the model needs of this rank in a step, over the
    same.

    Args:
        db: A connection with the tables `profile`, `kernel`, `kernel_metric`, `operator`, `step`, `metric`.
        table: The chips, instead of those that come with the package.

    Returns:
        One row per profile with kernels: profile_id, rank, steps (0 for a whole capture), window_ns (sum of the
        steps), chip, dtype, peak_flops_per_s (null for an unknown chip, like the ratios), counted_flops (null
        where nothing could be counted), counted_time_ratio (share of the matrix work's time whose operations
        could be counted), hfu_ratio (counted operations over the peak of that time), model_flops (null where
        not logged), mfu_ratio (stated operations over the peak of that time).
    """
    groups: dict[int, list[OperatorGroup]] = {}
    for group in operator_groups(db, table, only_steps=True):
        groups.setdefault(group.row["profile_id"], []).append(group)
    names = dict(db.execute("select profile_id, device_name from profile").fetchall())
    stated = dict(
        db.execute(
            """
            select metric.profile_id, sum(value)
            from metric
            where name = $name
              and (step in (select step from step where step.profile_id = metric.profile_id)
                   or profile_id not in (select profile_id from step where origin <> 'inferred'))
            group by metric.profile_id
            """,
            {"name": MODEL_FLOPS_METRIC},
        ).fetchall()
    )
    rows = []
    for activity in activities(db):
        windows, outer = activity.windows, outer_windows(activity.windows)
        window_ns = int((windows.end - windows.start)[outer].sum())
        profile_id = activity.profile_id
        rows.append(
            {
                "profile_id": profile_id,
                "rank": activity.rank,
                "steps": sum(windows.scope[at] == "step" for at in outer),
                "window_ns": window_ns,
                **_rates(
                    groups.get(profile_id, []),
                    chip_of(names.get(profile_id), table),
                    stated.get(profile_id),
                    window_ns / 1e9,
                ),
            }
        )
    return listed(db, rows, _TYPES)


def combined_mfu(db: DuckDBPyConnection, parts: Result) -> Result:
    """Add the job as a whole: its operations over its time and the sum of its chips' peaks.

    Returns:
        The rows of `mfu`, and one row with profile_id null for all profiles together (time: the longest of them; a
        ratio only where every profile has its part), which comes last.
    """
    rows = parts.table("mfu_of_profiles")
    columns = ", ".join(_TYPES)
    return selected(
        db,
        f"""
        with job as (
            select max(steps) as steps, max(window_ns) as window_ns, {_common("chip")}, {_common("dtype")},
                   {_whole("peak_flops_per_s")}, {_whole("counted_flops")},
                   min(counted_time_ratio) as counted_time_ratio, {_whole("model_flops")}
            from {rows}
            having count(*) > 0
        )
        select {columns} from (
            select * from {rows}
            union all by name
            select *, counted_flops / possible as hfu_ratio, model_flops / possible as mfu_ratio
            from (select *, nullif(window_ns / 1e9 * peak_flops_per_s, 0) as possible from job)
        )
        order by profile_id nulls last
        """,
    )


def _whole(column: str) -> str:
    """The sum over the profiles, in their order; null where one of them lacks its part."""
    return f"case when count({column}) = count(*) then sum({column} order by profile_id) end as {column}"


def _common(column: str) -> str:
    """What all profiles have in common; null where they differ, or one lacks it."""
    return f"case when count({column}) = count(*) and min({column}) = max({column}) then min({column}) end as {column}"


def _rates(groups: list[OperatorGroup], chip: Chip | None, stated: float | None, seconds: float) -> dict[str, Any]:
    matrix = [group for group in groups if group.row["family"] is not None]
    by_dtype: dict[str | None, float] = {}
    counted_ns = 0
    for group in matrix:
        if group.flops is not None:
            by_dtype[group.dtype] = by_dtype.get(group.dtype, 0.0) + float(group.flops * group.row["calls"])
            counted_ns += group.row["total_ns"]
    dtype = max(by_dtype, key=lambda name: (by_dtype[name], name or ""), default=None)
    counted = sum(by_dtype.values()) if by_dtype else None
    matrix_ns = sum(group.row["total_ns"] for group in matrix)
    peak = chip.peak(dtype or "float16") if chip is not None else None
    possible = peak * seconds if peak is not None and seconds > 0 else None
    return {
        "chip": None if chip is None else chip.name,
        "dtype": dtype,
        "peak_flops_per_s": peak,
        "counted_flops": counted,
        "counted_time_ratio": counted_ns / matrix_ns if matrix_ns else None,
        "hfu_ratio": counted / possible if counted is not None and possible else None,
        "model_flops": stated,
        "mfu_ratio": stated / possible if stated is not None and possible else None,
    }


ANALYSIS = Analysis(
    code="A13",
    name="mfu",
    title="Use of the chips' peak",
    per_profile=mfu,
    combine=combined_mfu,
    needs=(Need("kernel"),),
)
