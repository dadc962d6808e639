"""R-BN-1 synchronised batch norm: many small collectives in the middle of the layers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.rule import Claim, Context, Rule

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


class _Found(msgspec.Struct, kw_only=True):
    """Collectives that synchronised batch norm asked for, on one profile."""

    profile_id: int
    rank: int | None
    calls: int
    total_ns: int
    kernel_ids: list[int]


class _Norm(msgspec.Struct):
    """A profile in which synchronised batch norm ran."""

    profile_id: int


class _Exposed(msgspec.Struct):
    """How much of the communication of one kind is exposed on a profile (A14)."""

    exposed_ns: int | None
    total_ns: int | None


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the rank on which they take longest."""
    limits = context.limits
    steps = {step.profile_id: step for step in context.steps}
    if not context.facts.table_rows(_ANY, _Norm):
        return
    found = [row for row in context.facts.table_rows(_ASKED_FOR, _Found) if row.profile_id in steps]
    worst = max(found, key=lambda row: row.total_ns, default=None)
    if worst is None:
        return
    step = steps[worst.profile_id]
    calls = worst.calls / step.step_count
    moved = context.facts.rows("communication_summary", _Exposed, lambda row: row["profile_id"] == worst.profile_id)
    share = sum(row.exposed_ns or 0 for row in moved) / (sum(row.total_ns or 0 for row in moved) or 1)
    exposed_ns = round(min(share, 1.0) * worst.total_ns / step.step_count)
    if calls <= limits["calls_above_count"] or exposed_ns < limits["exposed_from_ratio"] * step.window_ns:
        return
    yield Claim(
        params={
            "rank": "?" if worst.rank is None else worst.rank,
            "call_count": calls,
            "exposed_ns": exposed_ns,
            "exposed_ratio": exposed_ns / (step.window_ns or 1),
        },
        location=place(worst, names=["SyncBatchNorm"]),
        evidence=figures(worst, "collective", {"calls": worst.calls, "total_ns": worst.total_ns}),
        changes=(partial(_fewer, kernel_ids=frozenset(worst.kernel_ids), profile_id=worst.profile_id),),
        at_stake_ns=exposed_ns,
    )


def _fewer(graph: StepGraph, *, kernel_ids: frozenset[int], profile_id: int) -> Transform | Unpriced:
    """A quarter, half, or all of the bytes and calls of batch norm are saved; the same on every rank."""
    import numpy as np

    from ascend_sn.replay import Bound, Remark, Scale, Transform, Unpriced, Where

    chosen = Where(profile_ids=(profile_id,), tables=("kernel",), row_ids=kernel_ids).mask(graph)
    kernels = set(graph.nodes.kernel[np.flatnonzero(chosen)].tolist())
    transits = [int(at) for at in graph.transit if int(graph.nodes.kernel[at]) in kernels]
    if not transits:
        return Unpriced(Remark("replay.transit-unknown"))
    at = np.array(transits, np.int64)
    return Transform.of("W6", (Bound((Scale(at, ratio),)) for ratio in (0.75, 0.5, 0.0)))


_NAMED: Final = "name ilike '%sync%batch%norm%' or module ilike '%sync%batch%norm%'"
_ANY: Final = f"select profile_id from operator where {_NAMED} limit 1"
_ASKED_FOR: Final = f"""
    with norm as (
        select profile_id, thread, ts_ns, ts_ns + dur_ns as end_ns
        from operator
        where {_NAMED}
    )
    select collective.profile_id, any_value(collective.rank) as rank, count(distinct collective.collective_id) as calls,
           sum(collective.dur_ns)::bigint as total_ns, list(distinct collective.kernel_id) as kernel_ids
    from collective
    join kernel using (profile_id, kernel_id)
    join operator launcher on launcher.profile_id = kernel.profile_id and launcher.operator_id = kernel.operator_id
    semi join norm on norm.profile_id = launcher.profile_id and norm.thread = launcher.thread
        and launcher.ts_ns >= norm.ts_ns and launcher.ts_ns < norm.end_ns
    group by collective.profile_id
"""

RULE = Rule("R-BN-1", "synchronised-batch-norm", "communication", "model", check, needs=("communication_summary",))
