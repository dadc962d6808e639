"""R-COMM-2 weak links: large messages move far below what the links can carry."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.communication_changes import transits_scaled
from ascend_sn.advisor.finding import Evidence, Location
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Lacking, Outcome, Rule

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]

_REACHABLE: Final = (0.6, 0.8, 1.0)
"""Share of the hardware's bandwidth that collectives can reach: low, expected, high (W4)."""


class _Use(msgspec.Struct):
    """The pairs of one group, all transports together (A15)."""

    group_id: str | None
    pairs: int
    size_bytes: int
    dur_ns: int
    bandwidth_ratio: float | None
    unknown: int


class _Fit(msgspec.Struct):
    alpha_time_ratio: float | None


def check(context: Context) -> Iterator[Outcome]:
    """Yield one claim per group whose links are used badly, the one with most transfer time first."""
    groups = context.facts.query("rank_pairs", _GROUPS, _Use)
    if groups and all(group.bandwidth_ratio is None for group in groups):
        yield Lacking("rank_pairs", reason="the bandwidth of this chip's links is not in the table of chips")
        return
    for group in groups:
        ratio = group.bandwidth_ratio
        if ratio is None or ratio >= context.limits["bandwidth_below_ratio"]:
            continue
        alpha = _alpha_share(context, group.group_id)
        bound_by_alpha = alpha is not None and alpha > context.limits["alpha_from_ratio"]
        yield Claim(
            params={
                "bandwidth_ratio": ratio,
                "pair_count": group.pairs,
                "achieved_bytes_per_s": group.size_bytes * 1e9 / (group.dur_ns or 1),
            },
            location=Location(group_id=group.group_id),
            evidence=_evidence(group, alpha),
            changes=(partial(_faster, group_id=group.group_id, ratio=ratio),),
            suppressed_by=Message("suppressed.small-messages", {"alpha_ratio": alpha}) if bound_by_alpha else None,
        )


def _alpha_share(context: Context, group_id: str | None) -> float | None:
    """Share of the transit that a call costs without any bytes (A16); None where nothing could be fitted.

    Pairs that are named by their ranks in the job may belong to any group.
    """
    rows = context.facts.query(
        "alpha_beta",
        """
        select sum(alpha_time_ratio * transit_ns) / nullif(sum(transit_ns), 0) as alpha_time_ratio
        from result
        where fitted and ($group_id is null or group_id = $group_id)
        """,
        _Fit,
        group_id=group_id,
    )
    return rows[0].alpha_time_ratio if rows else None


def _faster(graph: StepGraph, *, group_id: str | None, ratio: float) -> Transform | Unpriced:
    """W4: the transits of the group as at 60, 80 and 100 % of its links; of all groups where ranks are of the job."""
    low, expected, high = (min(1.0, ratio / reachable) for reachable in _REACHABLE)
    return transits_scaled(graph, (low, expected, high), chosen=lambda one: group_id in (None, one.group_id))


def _evidence(group: _Use, alpha: float | None) -> tuple[Evidence, ...]:
    figures: list[tuple[str, float, str]] = [
        ("size_bytes", group.size_bytes, "rank_pairs"),
        ("dur_ns", group.dur_ns, "rank_pairs"),
        ("bandwidth_ratio", group.bandwidth_ratio or 0.0, "rank_pairs"),
    ]
    if alpha is not None:
        figures.append(("alpha_time_ratio", alpha, "alpha_beta"))
    return tuple(Evidence(name=name, value=value, source=source) for name, value, source in figures)


_GROUPS: Final = """
    select group_id, count(*) as pairs, sum(size_bytes)::bigint as size_bytes, sum(dur_ns)::bigint as dur_ns,
           (sum(bandwidth_ratio * dur_ns) / nullif(sum(dur_ns) filter (where bandwidth_ratio is not null), 0))
               as bandwidth_ratio,
           count(*) filter (where bandwidth_ratio is null) as unknown
    from result
    where dur_ns > 0
    group by group_id
    order by dur_ns desc, group_id
"""

RULE = Rule("R-COMM-2", "weak-links", "communication", "config", check, needs=("rank_pairs",))
