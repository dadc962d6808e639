"""What the document holds of a job of many ranks: bounded lists, the worst first, whatever its size."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["Cluster", "ClusterGroups", "ClusterRank", "ClusterStage", "Figure", "RankSteps", "SlowLink", "Spread"]


Figure = Literal["window", "compute", "exposed_comm", "overlapped", "exposed_copy", "free", "own", "memory_peak"]


class Spread(msgspec.Struct, kw_only=True):
    """A figure over the ranks: ns per step for times, bytes for memory; `middle` is the median."""

    figure: Figure
    ranks: int
    lowest: int
    lowest_rank: int | None
    middle: int
    highest: int
    highest_rank: int | None


class ClusterRank(msgspec.Struct, kw_only=True):
    """A rank that stands out; times are medians over its steps, see the analysis `stragglers`.

    `own_ns` is what it does by itself, `peer_own_ns` the median of the other ranks of its stage, `caused_wait_ns` what
    the others wait for it in a step.
    """

    rank: int | None
    profile_id: int
    host: str | None
    stage: int | None
    own_ns: int
    peer_own_ns: int | None
    caused_wait_ns: int
    last_ratio: float | None
    is_straggler: bool
    cause: str | None
    excess_ns: int | None
    evidence: str | None


class ClusterStage(msgspec.Struct, kw_only=True):
    """The ranks of a pipeline stage, as medians over its ranks; ratios are of the step."""

    stage: int | None
    ranks: int
    window_ns: int
    compute_ns: int
    exposed_comm_ns: int
    free_ns: int
    bubble_ratio: float | None
    ideal_ratio: float | None
    excess_ratio: float | None


class ClusterGroups(msgspec.Struct, kw_only=True):
    """Communicators of one kind and size."""

    kind: str
    size: int
    is_exact: bool
    count: int


class SlowLink(msgspec.Struct, kw_only=True):
    """A pair of ranks whose bandwidth stands out, and what it is laid to: sender, receiver or link."""

    group_id: str | None
    src_rank: int
    dst_rank: int
    rank_scope: str
    transport: str | None
    bandwidth_bytes_per_s: float
    usual_bytes_per_s: float
    robust_z: float
    pattern: str


class RankSteps(msgspec.Struct, kw_only=True):
    """The steps of a rank: what it did by itself in each, null where it has no such step."""

    rank: int | None
    stage: int | None
    own_ns: list[int | None]


class Cluster(msgspec.Struct, kw_only=True):
    """All ranks of a job at once.

    Attributes:
        rank_count: Profiles that were summarised.
        detailed_ranks: Ranks that the other sections look into; null where they look into all of them.
        lost: Captures without a summary, and why; at most twenty.
        lost_count: Their number.
        spreads: How figures differ between ranks.
        stages: Pipeline stages; one without number where there is no pipeline.
        groups: Communicators by kind and size.
        straggler_count: Ranks that the others wait for.
        worst: Ranks that stand out, those that cost most first; at most twenty.
        slow_link_count: Pairs of ranks whose bandwidth stands out.
        slow_links: The slowest of them; at most twenty.
        steps: Numbers of the steps of `heat`; at most fifty.
        heat: Own time by rank and step, the worst ranks first; at most two hundred.
    """

    rank_count: int
    detailed_ranks: list[int | None] | None
    lost: list[str]
    lost_count: int
    spreads: list[Spread]
    stages: list[ClusterStage]
    groups: list[ClusterGroups]
    straggler_count: int
    worst: list[ClusterRank]
    slow_link_count: int
    slow_links: list[SlowLink]
    steps: list[int]
    heat: list[RankSteps]
