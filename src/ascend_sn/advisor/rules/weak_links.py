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
    from ascend_sn.advisor.facts import Facts
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]

_REACHABLE: Final = (0.6, 0.8, 1.0)
"""Share of the hardware's bandwidth that collectives can reach: low, expected, high (W4)."""


class _Pair(msgspec.Struct):
    """The traffic of one pair of ranks, all transports together (A15)."""

    group_id: str | None
    size_bytes: int
    dur_ns: int
    bandwidth_ratio: float | None


class _Use(msgspec.Struct):
    """The pairs of one group."""

    group_id: str | None
    pairs: int
    size_bytes: int
    dur_ns: int
    bandwidth_ratio: float | None
    unknown: int


class _Fit(msgspec.Struct):
    """What calls of one operation and group cost without any bytes (A16)."""

    transit_ns: int
    alpha_time_ratio: float


def check(context: Context) -> Iterator[Outcome]:
    """Yield one claim per group whose links are used badly, the one with most transfer time first."""
    groups = _groups(context.facts)
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


def _groups(facts: Facts) -> list[_Use]:
    """The groups with traffic, the one with most transfer time first."""
    by_group: dict[str | None, list[_Pair]] = {}
    for pair in facts.rows("rank_pairs", _Pair, lambda row: (row["dur_ns"] or 0) > 0):
        by_group.setdefault(pair.group_id, []).append(pair)
    uses = []
    for group_id, pairs in by_group.items():
        known = [(pair.bandwidth_ratio, pair.dur_ns) for pair in pairs if pair.bandwidth_ratio is not None]
        known_ns = sum(dur_ns for _, dur_ns in known)
        uses.append(
            _Use(
                group_id=group_id,
                pairs=len(pairs),
                size_bytes=sum(pair.size_bytes for pair in pairs),
                dur_ns=sum(pair.dur_ns for pair in pairs),
                bandwidth_ratio=sum(ratio * dur_ns for ratio, dur_ns in known) / known_ns if known else None,
                unknown=len(pairs) - len(known),
            )
        )
    return sorted(uses, key=lambda use: (-use.dur_ns, use.group_id is None, use.group_id or ""))


def _alpha_share(context: Context, group_id: str | None) -> float | None:
    """Share of the transit that a call costs without any bytes (A16); None where nothing could be fitted.

    Pairs that are named by their ranks in the job may belong to any group.
    """
    fits = context.facts.rows(
        "alpha_beta", _Fit, lambda row: row["fitted"] and (group_id is None or row["group_id"] == group_id)
    )
    transit_ns = sum(fit.transit_ns for fit in fits)
    return sum(fit.alpha_time_ratio * fit.transit_ns for fit in fits) / transit_ns if transit_ns else None


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


RULE = Rule("R-COMM-2", "weak-links", "communication", "config", check, needs=("rank_pairs",))
