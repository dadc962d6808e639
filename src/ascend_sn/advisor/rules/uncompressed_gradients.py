"""R-COMM-3 uncompressed gradients: gradients are reduced in float32, and nothing hides it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from ascend_sn.advisor.communication_changes import compressed
from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.rule import Claim, Context, Rule

__all__ = ["RULE"]


class _Share(msgspec.Struct, kw_only=True):
    """Exposed transit of a profile (A03b)."""

    profile_id: int
    rank: int | None
    exposed_transit_ratio: float


class _Bytes(msgspec.Struct):
    float32_bytes: int | None
    all_bytes: int | None


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the rank whose transit is exposed most."""
    rows = context.facts.rows("communication_grade", _Share, lambda row: row["exposed_transit_ratio"] is not None)
    worst = max(sorted(rows, key=_by_rank), key=lambda row: row.exposed_transit_ratio, default=None)
    if worst is None or worst.exposed_transit_ratio < context.limits["exposed_transit_from_ratio"]:
        return
    reduced = context.facts.table_rows(_REDUCED, _Bytes, profile_id=worst.profile_id)[0]
    if not reduced.float32_bytes or not reduced.all_bytes:
        return
    window_ns = next((step.window_ns for step in context.steps if step.profile_id == worst.profile_id), 0)
    yield Claim(
        params={
            "exposed_transit_ratio": worst.exposed_transit_ratio,
            "float32_bytes": reduced.float32_bytes,
            "float32_ratio": reduced.float32_bytes / reduced.all_bytes,
        },
        location=place(worst),
        evidence=(
            *figures(worst, "communication_grade", {"exposed_transit_ratio": worst.exposed_transit_ratio}),
            *figures(worst, "collective", {"float32_bytes": reduced.float32_bytes, "all_bytes": reduced.all_bytes}),
        ),
        changes=(compressed,),
        at_stake_ns=round(worst.exposed_transit_ratio * window_ns),
    )


def _by_rank(row: _Share) -> tuple[bool, int, int]:
    return row.rank is None, row.rank or 0, row.profile_id


_REDUCED: Final = """
    select (sum(size_bytes) filter (where lower(dtype) in ('fp32', 'float32', 'float', 'torch.float32')))::bigint
               as float32_bytes,
           sum(size_bytes)::bigint as all_bytes
    from collective
    where profile_id = $profile_id and op in ('allreduce', 'reducescatter')
"""

RULE = Rule("R-COMM-3", "uncompressed-gradients", "communication", "code", check, needs=("communication_grade",))
