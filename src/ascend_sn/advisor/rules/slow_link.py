"""R-COMM-5 slow link: one pair, sender or receiver moves bytes far more slowly than its peers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.communication_changes import transits_scaled_by
from ascend_sn.advisor.finding import Evidence, Location
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule
from ascend_sn.analysis.communication.link_matrix import shared_rank

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


class _Pattern(msgspec.Struct):
    pattern: str


class _Slow(msgspec.Struct, kw_only=True):
    """One culprit of a group and transport: the sender, the receiver, or the pair (A15)."""

    group_id: str | None
    transport: str | None
    pattern: str
    src_rank: int
    dst_rank: int
    rank_scope: str
    pairs: int
    steps: int
    slow_steps: int
    slow_bytes_per_s: float
    usual_bytes_per_s: float
    robust_z: float


class _Longest(msgspec.Struct):
    """How long a group's slow links move bytes, and the others."""

    group_id: str | None
    slow_ns: int
    other_ns: int


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim per culprit, the slowest first; a rank that all slow links have in common is one culprit."""
    if not context.facts.query("link_matrix", _ANY, _Pattern):
        return
    for alike in _by_culprit(context.facts.query("link_matrix", _CULPRITS, _Slow)):
        slow = alike[0]
        ratio = slow.slow_bytes_per_s / slow.usual_bytes_per_s
        yield Claim(
            params={
                "who": _named(alike),
                "transport": slow.transport or "?",
                "slow_bytes_per_s": slow.slow_bytes_per_s,
                "usual_bytes_per_s": slow.usual_bytes_per_s,
                "share_ratio": ratio,
            },
            location=Location(ranks=_ranks(alike), group_id=slow.group_id if len(alike) == 1 else None),
            evidence=(
                Evidence(name="bandwidth_bytes_per_s", value=slow.slow_bytes_per_s, source="link_matrix"),
                Evidence(name="median_bandwidth_bytes_per_s", value=slow.usual_bytes_per_s, source="link_matrix"),
                Evidence(name="robust_z", value=slow.robust_z, source="link_matrix"),
                Evidence(name="pairs", value=sum(one.pairs for one in alike), source="link_matrix"),
            ),
            changes=(partial(_as_usual, ratios=_ratios(context, alike)),),
            suppressed_by=_seldom(slow, context.limits["persistent_from_ratio"]),
        )


def _by_culprit(found: list[_Slow]) -> list[list[_Slow]]:
    """Put slow links together that have a rank in common which no other slow link lacks; else those of a pair."""
    if _shared(found) is not None:
        return [found]
    pairs: dict[object, list[_Slow]] = {}
    for at, slow in enumerate(found):
        same = frozenset(_ends(slow)) if slow.rank_scope == "global" and slow.pattern == "link" else at
        pairs.setdefault(same, []).append(slow)
    return list(pairs.values())


def _ratios(context: Context, alike: list[_Slow]) -> dict[str | None, float]:
    """Return by group what is left of a transit once its slow links are as usual: then another one may be slowest."""
    usual: dict[str | None, float] = {}
    for one in alike:
        ratio = one.slow_bytes_per_s / one.usual_bytes_per_s
        usual[one.group_id] = min(ratio, usual.get(one.group_id, 1.0))
    slowest = {one.group_id: one for one in context.facts.query("link_matrix", _LONGEST, _Longest)}
    return {
        group_id: min(1.0, max(ratio, slowest[group_id].other_ns / slowest[group_id].slow_ns))
        for group_id, ratio in usual.items()
    }


def _shared(links: list[_Slow]) -> int | None:
    """The one rank that has a part in all of several culprits, where these name ranks of the job."""
    if len(links) < 2 or any(link.rank_scope != "global" for link in links):
        return None
    return shared_rank(map(_ends, links))


def _ends(slow: _Slow) -> tuple[int, ...]:
    if slow.pattern == "link":
        return slow.src_rank, slow.dst_rank
    return (slow.src_rank if slow.pattern == "sender" else slow.dst_rank,)


def _named(alike: list[_Slow]) -> Message:
    slow, shared = alike[0], _shared(alike)
    if shared is not None:
        return Message("link.rank", {"rank": shared})
    return Message(f"link.{slow.pattern}", {"src": slow.src_rank, "dst": slow.dst_rank})


def _ranks(alike: list[_Slow]) -> tuple[int, ...]:
    shared = _shared(alike)
    return _ends(alike[0]) if shared is None else (shared,)


def _seldom(slow: _Slow, persistent_ratio: float) -> Message | None:
    """Say that the link is slow in few steps only, where several were recorded."""
    if slow.steps > 1 and slow.slow_steps < persistent_ratio * slow.steps:
        return Message("suppressed.not-persistent", {"slow_count": slow.slow_steps, "step_count": slow.steps})
    return None


def _as_usual(graph: StepGraph, *, ratios: dict[str | None, float]) -> Transform | Unpriced:
    """W4: a collective is as slow as its slowest link; with that link as the others its transit shrinks by as much."""
    return transits_scaled_by(graph, lambda one: ratios.get(one.group_id))


_ANY: Final = "select pattern from result where pattern is not null limit 1"
_LONGEST: Final = """
    select group_id, max(dur_ns) filter (where pattern is not null) as slow_ns,
           coalesce(max(dur_ns) filter (where pattern is null), 0) as other_ns
    from result
    group by group_id
    having slow_ns > 0
"""
_CULPRITS: Final = """
    with slow as (
        select *
        from result
        where pattern is not null
    ),
    by_step as (
        select group_id, transport, src_rank, dst_rank, coalesce(step, -1) as step,
               sum(size_bytes) * 1e9 / nullif(sum(dur_ns), 0) as bytes_per_s
        from link
        where src_rank is not null and dst_rank is not null
        group by all
    ),
    persistence as (
        select slow.group_id, slow.transport, slow.src_rank, slow.dst_rank, count(*) as steps,
               count(*) filter (where bytes_per_s < (slow.bandwidth_bytes_per_s + usual_bytes_per_s) / 2) as slow_steps
        from slow
        join by_step on by_step.group_id is not distinct from slow.group_id
            and by_step.transport is not distinct from slow.transport
            and by_step.src_rank = slow.src_rank and by_step.dst_rank = slow.dst_rank
        group by all
    )
    select slow.group_id, slow.transport, pattern,
           min(slow.src_rank) as src_rank, min(slow.dst_rank) as dst_rank, min(rank_scope) as rank_scope,
           count(*) as pairs, min(steps) as steps, min(slow_steps) as slow_steps,
           min(slow.bandwidth_bytes_per_s) as slow_bytes_per_s, min(slow.usual_bytes_per_s) as usual_bytes_per_s,
           min(slow.robust_z) as robust_z
    from slow
    join persistence on persistence.group_id is not distinct from slow.group_id
        and persistence.transport is not distinct from slow.transport
        and persistence.src_rank = slow.src_rank and persistence.dst_rank = slow.dst_rank
    group by slow.group_id, slow.transport, pattern,
             case pattern when 'sender' then slow.src_rank when 'receiver' then -1 else slow.src_rank end,
             case pattern when 'sender' then -1 else slow.dst_rank end
    order by min(slow.bandwidth_bytes_per_s) / min(slow.usual_bytes_per_s), min(slow.src_rank), min(slow.dst_rank)
"""

RULE = Rule("R-COMM-5", "slow-link", "communication", "config", check, needs=("link_matrix",))
