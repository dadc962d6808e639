"""The cluster section: what differs between the ranks of a job, worst first, in lists that do not grow with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final

import msgspec

from ascend_sn.advisor.facts import Facts, rounded
from ascend_sn.advisor.median_step import MedianStep
from ascend_sn.report.documents.cluster import (
    Cluster,
    ClusterGroups,
    ClusterRank,
    ClusterStage,
    Figure,
    RankSteps,
    SlowLink,
    Spread,
)

__all__ = ["CLUSTER_FROM", "cluster_section"]

CLUSTER_FROM: Final = 16
"""Ranks from which they are too many to be looked at one by one."""

_LISTED: Final = 20
_HEAT_ROWS: Final = 200
_HEAT_STEPS: Final = 50

_PARTS: Final[tuple[Figure, ...]] = ("window", "compute", "exposed_comm", "overlapped", "exposed_copy", "free")


class _Straggler(msgspec.Struct, kw_only=True):
    profile_id: int
    rank: int | None
    stage: int | None
    own_ns: int
    peer_own_ns: int | None
    caused_wait_ns: int
    last_ratio: float | None
    is_straggler: bool
    cause: str | None
    evidence: str | None
    compute_excess_ns: int | None
    data_excess_ns: int | None
    host_excess_ns: int | None
    copy_excess_ns: int | None


class _Bubble(msgspec.Struct):
    profile_id: int
    bubble_ratio: float | None
    ideal_ratio: float | None
    excess_ratio: float | None


class _Link(msgspec.Struct):
    group_id: str | None
    src_rank: int
    dst_rank: int
    rank_scope: str
    transport: str | None
    bandwidth_bytes_per_s: float | None
    usual_bytes_per_s: float | None
    robust_z: float | None
    pattern: str | None


class _Peak(msgspec.Struct):
    rank: int | None
    peak_allocated_bytes: int | None
    peak_reserved_bytes: int | None


class _Window(msgspec.Struct):
    profile_id: int
    rank: int | None
    step_id: int | None
    step: int | None
    origin: str | None
    window_ns: int
    exposed_comm_ns: int


def cluster_section(facts: Facts, steps: Sequence[MedianStep]) -> Cluster | None:
    """Return what can be said of all ranks at once; None for a job of fewer than sixteen."""
    if len(facts.profiles) < CLUSTER_FROM:
        return None
    found = facts.rows("stragglers", _Straggler)
    hosts = {row["profile_id"]: row["host"] for row in facts.profiles}
    ranked = sorted(found, key=lambda row: (not row.is_straggler, -row.caused_wait_ns, -_excess(row), row.profile_id))
    stages = {row.profile_id: row.stage for row in found}
    slow = [link for link in facts.rows("link_matrix", _Link) if link.pattern is not None]
    numbers, heat = _heat(facts, [row.profile_id for row in ranked], stages)
    detailed = facts.run.detailed
    ranks = {row["profile_id"]: row["rank"] for row in facts.profiles}
    lost = facts.run.unsummarised
    return Cluster(
        rank_count=len(facts.profiles),
        detailed_ranks=None if detailed is None else sorted((ranks[one] for one in detailed), key=_by_rank),
        lost=[f"{one.source}: {one.reason}" for one in lost[:_LISTED]],
        lost_count=len(lost),
        spreads=_spreads(facts, steps, found),
        stages=_stages(steps, stages, facts.rows("pipeline_bubble", _Bubble)),
        groups=_groups(facts),
        straggler_count=sum(row.is_straggler for row in found),
        worst=[_worst(row, hosts) for row in ranked[:_LISTED]],
        slow_link_count=len(slow),
        slow_links=[
            SlowLink(
                group_id=link.group_id,
                src_rank=link.src_rank,
                dst_rank=link.dst_rank,
                rank_scope=link.rank_scope,
                transport=link.transport,
                bandwidth_bytes_per_s=link.bandwidth_bytes_per_s or 0.0,
                usual_bytes_per_s=link.usual_bytes_per_s or 0.0,
                robust_z=link.robust_z or 0.0,
                pattern=link.pattern or "",
            )
            for link in sorted(slow, key=lambda link: (link.robust_z or 0.0, link.src_rank, link.dst_rank))[:_LISTED]
        ],
        steps=numbers,
        heat=heat,
    )


def _by_rank(rank: int | None) -> tuple[bool, int]:
    return rank is None, rank or 0


def _excess(row: _Straggler) -> int:
    return 0 if row.peer_own_ns is None else row.own_ns - row.peer_own_ns


def _worst(row: _Straggler, hosts: dict[int, str | None]) -> ClusterRank:
    return ClusterRank(
        rank=row.rank,
        profile_id=row.profile_id,
        host=hosts.get(row.profile_id),
        stage=row.stage,
        own_ns=row.own_ns,
        peer_own_ns=row.peer_own_ns,
        caused_wait_ns=row.caused_wait_ns,
        last_ratio=row.last_ratio,
        is_straggler=row.is_straggler,
        cause=row.cause,
        excess_ns=None if row.cause is None else getattr(row, f"{row.cause}_excess_ns"),
        evidence=row.evidence,
    )


def _spreads(facts: Facts, steps: Sequence[MedianStep], found: Sequence[_Straggler]) -> list[Spread]:
    spreads = [_spread(name, ((getattr(step, f"{name}_ns"), step.rank) for step in steps)) for name in _PARTS]
    spreads.append(_spread("own", ((row.own_ns, row.rank) for row in found)))
    peaks: dict[int | None, int] = {}
    for row in facts.rows("memory_peak", _Peak):
        size = row.peak_allocated_bytes if row.peak_allocated_bytes is not None else row.peak_reserved_bytes
        if size is not None:
            peaks[row.rank] = max(size, peaks.get(row.rank, 0))
    spreads.append(_spread("memory_peak", ((size, rank) for rank, size in peaks.items())))
    return [spread for spread in spreads if spread is not None]


def _spread(figure: Figure, values: Iterable[tuple[int | None, int | None]]) -> Spread | None:
    known = [(value, rank) for value, rank in values if value is not None]
    if not known:
        return None
    lowest, lowest_rank = min(known, key=lambda one: (one[0], _by_rank(one[1])))
    highest, highest_rank = max(known, key=lambda one: (one[0], *(-part for part in _by_rank(one[1]))))
    return Spread(
        figure=figure,
        ranks=len(known),
        lowest=lowest,
        lowest_rank=lowest_rank,
        middle=rounded(median(value for value, _ in known)),
        highest=highest,
        highest_rank=highest_rank,
    )


def _stages(
    steps: Sequence[MedianStep], stages: dict[int, int | None], bubbles: Sequence[_Bubble]
) -> list[ClusterStage]:
    by_stage: dict[int | None, list[MedianStep]] = {}
    for step in steps:
        by_stage.setdefault(stages.get(step.profile_id), []).append(step)
    waits = {row.profile_id: row for row in bubbles}
    rows = []
    for stage in sorted(by_stage, key=_by_rank):
        members = by_stage[stage]
        waiting = [waits[step.profile_id] for step in members if step.profile_id in waits]
        rows.append(
            ClusterStage(
                stage=stage,
                ranks=len(members),
                window_ns=_middle(step.window_ns for step in members),
                compute_ns=_middle(step.compute_ns for step in members),
                exposed_comm_ns=_middle(step.exposed_comm_ns for step in members),
                free_ns=_middle(step.free_ns for step in members),
                bubble_ratio=_known_middle(row.bubble_ratio for row in waiting),
                ideal_ratio=_known_middle(row.ideal_ratio for row in waiting),
                excess_ratio=_known_middle(row.excess_ratio for row in waiting),
            )
        )
    return rows


def _middle(values: Iterable[int]) -> int:
    return rounded(median(values))


def _known_middle(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _groups(facts: Facts) -> list[ClusterGroups]:
    return facts.table_rows(
        """
        with known as (
            select group_id, any_value(kind) as kind, max(group_size) as size,
                   bool_and(coalesce(size_is_exact, false)) as is_exact
            from comm_group_member
            where group_size > 1
            group by group_id
        )
        select coalesce(kind, 'group') as kind, size, is_exact, count(*) as "count"
        from known
        group by all
        order by kind, size, is_exact
        """,
        ClusterGroups,
    )


def _heat(facts: Facts, ranked: Sequence[int], stages: dict[int, int | None]) -> tuple[list[int], list[RankSteps]]:
    """Own time by rank and step; of many steps those of the middle are left out evenly."""
    rows = facts.rows("step_breakdown", _Window, lambda row: row["scope"] == "step" and row["origin"] != "inferred")
    numbers = sorted({_number(row) for row in rows})
    if len(numbers) > _HEAT_STEPS:
        numbers = [numbers[at * (len(numbers) - 1) // (_HEAT_STEPS - 1)] for at in range(_HEAT_STEPS)]
    place = {number: at for at, number in enumerate(numbers)}
    shown = {profile_id: RankSteps(rank=None, stage=stages[profile_id], own_ns=[None] * len(numbers))
             for profile_id in ranked[:_HEAT_ROWS]}  # fmt: skip
    for row in rows:
        at = place.get(_number(row))
        if row.profile_id in shown and at is not None:
            shown[row.profile_id].rank = row.rank
            shown[row.profile_id].own_ns[at] = row.window_ns - row.exposed_comm_ns
    return numbers, [one for one in shown.values() if any(value is not None for value in one.own_ns)]


def _number(row: _Window) -> int:
    return row.step if row.step is not None else row.step_id or 0
