"""R-COMM-8 contention: computing beside communication takes much longer than alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import msgspec

from ascend_sn.advisor.communication_changes import contention_removed
from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.rule import Claim, Context, Rule

__all__ = ["RULE"]


class _Slowed(msgspec.Struct, kw_only=True):
    """Kernels of one type that were seen both beside communication and alone (A19)."""

    profile_id: int
    rank: int | None
    op_type: str
    kernels: int
    overlapped_ns: float
    alone_ns: float


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the rank that loses most."""
    limits = context.limits
    rows: dict[int, list[_Slowed]] = {}
    for row in context.facts.query("contention", _SLOWED, _Slowed):
        rows.setdefault(row.profile_id, []).append(row)
    worst, lost_ns, ratio = None, 0, 0.0
    for step in context.steps:
        slowed = rows.get(step.profile_id, [])
        alone = sum(row.alone_ns for row in slowed)
        beside = sum(row.overlapped_ns for row in slowed)
        lost = round((beside - alone) / step.step_count)
        if not alone or beside / alone <= limits["slowdown_above_ratio"]:
            continue
        if lost >= limits["lost_from_ratio"] * step.window_ns and lost > lost_ns:
            worst, lost_ns, ratio = step, lost, beside / alone
    if worst is None:
        return
    slowed = rows[worst.profile_id]
    types = sorted(slowed, key=lambda row: row.alone_ns - row.overlapped_ns)
    yield Claim(
        params={
            "rank": "?" if worst.rank is None else worst.rank,
            "slowdown_ratio": ratio,
            "lost_ns": lost_ns,
            "kernels": ", ".join(row.op_type for row in types[:3]),
        },
        location=place(worst, names=[row.op_type for row in types[:3]]),
        evidence=figures(
            worst,
            "contention",
            {"slowdown_ratio": ratio, "lost_ns": lost_ns, "kernel_count": sum(row.kernels for row in slowed)},
        ),
        changes=(
            partial(
                contention_removed,
                slowdowns={row.op_type: row.overlapped_ns / row.alone_ns for row in slowed if row.alone_ns},
            ),
        ),
        at_stake_ns=lost_ns,
    )


_SLOWED: Final = """
    select profile_id, any_value(rank) as rank, op_type, sum(overlapped_count)::bigint as kernels,
           sum(overlapped_count * overlapped_ns)::double as overlapped_ns,
           sum(overlapped_count * alone_ns)::double as alone_ns
    from result
    where kind = 'compute'
    group by profile_id, op_type
    order by profile_id, op_type
"""

RULE = Rule("R-COMM-8", "contention", "communication", "config", check, needs=("contention",))
