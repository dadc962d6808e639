"""R-COMM-8 contention: computing beside communication takes much longer than alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from ascend_sn.advisor.communication_changes import contention_removed
from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.rule import Claim, Context, Rule

if TYPE_CHECKING:
    from ascend_sn.advisor.facts import Facts

__all__ = ["RULE"]


class _Slowed(msgspec.Struct, kw_only=True):
    """Equal kernels that were seen both beside communication and alone (A19): how many, and their median time."""

    profile_id: int
    op_type: str
    kernels: int = msgspec.field(name="overlapped_count")
    overlapped_ns: float
    alone_ns: float


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the rank that loses most."""
    limits = context.limits
    rows = _by_type(context.facts)
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


def _by_type(facts: Facts) -> dict[int, list[_Slowed]]:
    """Kernels of one type together, by profile; their times are sums then."""
    types: dict[tuple[int, str], _Slowed] = {}
    for row in facts.rows("contention", _Slowed, lambda row: row["kind"] == "compute"):
        own = types.setdefault((row.profile_id, row.op_type), _Slowed(
            profile_id=row.profile_id, op_type=row.op_type, kernels=0, overlapped_ns=0.0, alone_ns=0.0
        ))  # fmt: skip
        own.kernels += row.kernels
        own.overlapped_ns += row.kernels * row.overlapped_ns
        own.alone_ns += row.kernels * row.alone_ns
    rows: dict[int, list[_Slowed]] = {}
    for (profile_id, _), own in sorted(types.items(), key=lambda item: item[0]):
        rows.setdefault(profile_id, []).append(own)
    return rows


RULE = Rule("R-COMM-8", "contention", "communication", "config", check, needs=("contention",))
