"""A17 between pipeline stages: which stage computes longer than the others, and which kernels make it."""

from __future__ import annotations

from statistics import median, median_low
from typing import Any, Final

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.ranks.pipeline_stages import stages_of_profiles
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.analysis.shapes import shapes_of
from ascend_sn.model.kinds import COMPUTE_KINDS

__all__ = ["ANALYSIS", "combined_imbalance", "stage_imbalance"]

VOCABULARY_AT_LEAST: Final = 16_384
"""A dimension of this size that only one stage has looks like a vocabulary (embedding, output layer, loss)."""

OPERATORS_SHOWN: Final = 10
"""Operators that are listed for a stage."""

_PER_PROFILE: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "stage": "integer",
    "stage_count": "integer",
    "op_type": "varchar",
    "input_shapes": "varchar",
    "calls_per_step": "double",
    "ns_per_step": "double",
}

_TYPES: Final = {
    "stage": "integer",
    "stage_count": "integer",
    "is_last": "boolean",
    "ranks": "bigint",
    "compute_ns": "double",
    "other_compute_ns": "double",
    "excess_ns": "double",
    "excess_ratio": "double",
    "op_type": "varchar",
    "input_shapes": "varchar",
    "op_ns": "double",
    "other_op_ns": "double",
    "op_excess_ns": "double",
    "share_of_excess_ratio": "double",
    "largest_dimension": "bigint",
    "vocabulary_sized": "boolean",
}


def stage_imbalance(db: DuckDBPyConnection) -> Result:
    """Sum the compute kernels of each rank that knows its pipeline stage, by type and shape.

    Args:
        db: A connection with the tables `profile`, `comm_group_member`, `kernel`, `step`.

    Returns:
        profile_id, rank, stage, stage_count, op_type, input_shapes, calls_per_step, ns_per_step (over the marked steps;
        over the whole capture where there are none).
    """
    stages = stages_of_profiles(db)
    found = db.execute(f"""
        with steps as (
            select profile_id, count(*) as steps
            from step
            where origin <> 'inferred'
            group by profile_id
        )
        select kernel.profile_id, any_value(kernel.rank), coalesce(op_type, name), input_shapes,
               count(*) / coalesce(any_value(steps), 1)::double, sum(dur_ns) / coalesce(any_value(steps), 1)::double
        from kernel
        left join steps on steps.profile_id = kernel.profile_id
        where kind in {COMPUTE_KINDS} and (steps.steps is null or step_id is not null)
        group by kernel.profile_id, coalesce(op_type, name), input_shapes
        order by all
    """).fetchall()
    rows = [
        dict(zip(_PER_PROFILE, (profile_id, rank, *stages[profile_id], *rest), strict=True))
        for profile_id, rank, *rest in found
        if profile_id in stages
    ]
    return listed(db, rows, _PER_PROFILE)


def combined_imbalance(db: DuckDBPyConnection, parts: Result) -> Result:
    """Name the kernels that make a stage compute longer than the other stages of its pipeline.

    A stage stands for the median of its ranks (the shorter one of two: the other is a slow rank, no slow stage), the
    other stages for the median of them.

    Returns:
        The ten operators that exceed the other stages most, for each stage that computes longer than they do:
        stage, stage_count, is_last, ranks, compute_ns, other_compute_ns (the same of the other stages),
        excess_ns = compute_ns - other_compute_ns, excess_ratio = excess_ns / other_compute_ns, op_type,
        input_shapes, op_ns (this operator here), other_op_ns (in the other stages), op_excess_ns = op_ns -
        other_op_ns (all per step), share_of_excess_ratio = op_excess_ns / excess_ns, largest_dimension (of its
        inputs), vocabulary_sized (a dimension of 16,384 or more that no other stage has); by excess and
        op_excess, the largest first.
    """
    per_rank: dict[int, dict[int, dict[tuple[str, str | None], float]]] = {}
    count = 0
    rows_in_order = sorted(parts.fetchall(), key=lambda row: (row[0], row[4], row[5] or ""))
    for profile_id, _, stage, stage_count, op_type, shapes, _, ns in rows_in_order:
        count = max(count, stage_count)
        per_rank.setdefault(stage, {}).setdefault(profile_id, {})[op_type, shapes] = ns
    if len(per_rank) < 2:
        return listed(db, [], _TYPES)
    by_stage = {stage: _typical(ranks) for stage, ranks in per_rank.items()}
    total = {stage: median_low(sum(ops.values()) for ops in ranks.values()) for stage, ranks in per_rank.items()}
    rows: list[dict[str, Any]] = []
    for stage in by_stage:
        others = [other for other in by_stage if other != stage]
        expected = median(total[other] for other in others)
        if total[stage] <= expected:
            continue
        known = {"stage": stage, "stage_count": count, "is_last": stage == count - 1, "ranks": len(per_rank[stage])}
        compared = {
            "compute_ns": total[stage],
            "other_compute_ns": expected,
            "excess_ns": total[stage] - expected,
            "excess_ratio": (total[stage] - expected) / expected if expected else None,
        }
        elsewhere = {size for other in others for _, shapes in by_stage[other] for size in _sizes(shapes)}
        operators = _excesses(by_stage[stage], [by_stage[other] for other in others], elsewhere)
        for row in operators[:OPERATORS_SHOWN]:
            row["share_of_excess_ratio"] = row["op_excess_ns"] / compared["excess_ns"]
            rows.append({**known, **compared, **row})
    rows.sort(key=lambda row: (-row["excess_ns"], row["stage"], -row["op_excess_ns"], row["op_type"]))
    return listed(db, rows, _TYPES)


def _typical(ranks: dict[int, dict[tuple[str, str | None], float]]) -> dict[tuple[str, str | None], float]:
    """Time of each operator of a stage: the lower median over its ranks."""
    operators = {key for ops in ranks.values() for key in ops}
    return {key: median_low(ops.get(key, 0.0) for ops in ranks.values()) for key in operators}


def _excesses(
    own: dict[tuple[str, str | None], float],
    others: list[dict[tuple[str, str | None], float]],
    elsewhere: set[int],
) -> list[dict[str, Any]]:
    rows = []
    for (op_type, shapes), ns in own.items():
        usual = median(other.get((op_type, shapes), 0.0) for other in others)
        if ns <= usual:
            continue
        sizes = _sizes(shapes)
        rows.append(
            {
                "op_type": op_type,
                "input_shapes": shapes,
                "op_ns": ns,
                "other_op_ns": usual,
                "op_excess_ns": ns - usual,
                "largest_dimension": max(sizes, default=None),
                "vocabulary_sized": any(size >= VOCABULARY_AT_LEAST and size not in elsewhere for size in sizes),
            }
        )
    return sorted(rows, key=lambda row: (-row["op_excess_ns"], row["op_type"], row["input_shapes"] or ""))


def _sizes(shapes: str | None) -> set[int]:
    return {size for shape in shapes_of(shapes) or () for size in shape}


ANALYSIS = Analysis(
    code="A17",
    name="stage_imbalance",
    title="Uneven pipeline stages",
    per_profile=stage_imbalance,
    combine=combined_imbalance,
    needs=(Need("kernel"), Need("comm_group_member")),
)
