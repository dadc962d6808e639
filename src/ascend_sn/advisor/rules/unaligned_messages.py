"""R-COMM-7 unaligned messages: sizes that are no multiple of 512 bytes move more slowly than those that are."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import msgspec

from ascend_sn.advisor.communication_changes import sizes_of, transits_scaled
from ascend_sn.advisor.finding import Evidence, Location
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule

__all__ = ["RULE"]


class _Transit(msgspec.Struct):
    transit_ns: int


class _Compared(msgspec.Struct, kw_only=True):
    """Unaligned calls of one group and operation, and the aligned ones of a like size beside them (A14)."""

    group_id: str | None
    op: str
    calls: int
    sizes: list[int]
    transit_ns: int
    unaligned_bytes_per_s: float
    aligned_bytes_per_s: float | None


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim per group and operation, the one with most transit first."""
    limits = context.limits
    windows = {step.profile_id: step.window_ns * step.step_count for step in context.steps}
    whole_ns = sum(windows.values())
    least_ns = limits["transit_from_ratio"] * whole_ns
    unaligned = context.facts.query("collective_parts", _UNALIGNED, _Transit) if whole_ns else []
    if all(row.transit_ns < least_ns for row in unaligned):
        return
    for row in context.facts.query("collective_parts", _COMPARED, _Compared):
        if row.transit_ns < least_ns:
            continue
        usual = row.aligned_bytes_per_s
        ratio = None if usual is None else row.unaligned_bytes_per_s / usual
        if ratio is not None and ratio > limits["bandwidth_below_ratio"]:
            continue
        yield Claim(
            params={
                "op": row.op,
                "call_count": row.calls,
                "unaligned_bytes_per_s": row.unaligned_bytes_per_s,
                "aligned_bytes_per_s": usual or 0.0,
            },
            location=Location(group_id=row.group_id, names=(row.op,)),
            evidence=(
                Evidence(name="transit_ns", value=row.transit_ns, source="collective_parts"),
                Evidence(name="algbw_bytes_per_s", value=row.unaligned_bytes_per_s, source="collective_parts"),
            ),
            changes=()
            if ratio is None
            else (
                partial(
                    transits_scaled,
                    ratios=((1 + ratio) / 2, ratio, ratio),
                    chosen=sizes_of(row.group_id, row.op, frozenset(row.sizes)),
                ),
            ),
            suppressed_by=Message("suppressed.no-aligned-call") if usual is None else None,
        )


_UNALIGNED: Final = """
    select sum(transit_ns)::bigint as transit_ns
    from result
    where size_bytes > 0 and transit_ns > 0 and size_bytes % 512 <> 0
    group by group_id, op
"""
_COMPARED: Final = """
    with by_size as (
        select group_id, op, size_bytes, size_bytes % 512 = 0 as aligned, count(*) as calls,
               sum(transit_ns)::bigint as transit_ns, median(algbw_bytes_per_s) as bytes_per_s
        from result
        where size_bytes > 0 and transit_ns > 0
        group by group_id, op, size_bytes
    ),
    beside as (
        select one.group_id, one.op, one.size_bytes, one.calls, one.transit_ns, one.bytes_per_s,
               median(other.bytes_per_s) as peer_bytes_per_s
        from by_size one
        left join by_size other on other.aligned and other.op = one.op
            and other.group_id is not distinct from one.group_id
            and other.size_bytes between one.size_bytes / 2 and one.size_bytes * 2
        where not one.aligned
        group by all
    )
    select group_id, op, sum(calls)::bigint as calls, list(size_bytes) as sizes, sum(transit_ns)::bigint as transit_ns,
           median(bytes_per_s) as unaligned_bytes_per_s, median(peer_bytes_per_s) as aligned_bytes_per_s
    from beside
    group by group_id, op
    order by transit_ns desc, op, group_id
"""

RULE = Rule("R-COMM-7", "unaligned-messages", "communication", "code", check, needs=("collective_parts",))
