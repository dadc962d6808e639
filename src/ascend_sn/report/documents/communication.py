"""Collectives, links and pairs of ranks."""

from __future__ import annotations

from typing import Literal

import msgspec

from ascend_sn.report.documents.section import Section

__all__ = [
    "Communication",
    "CommunicationGrade",
    "Link",
    "Operation",
    "RankPair",
]


class Operation(msgspec.Struct, kw_only=True):
    """Collectives of one primitive, summed over the profiles: total = transit + wait + idle + unknown."""

    op: str
    calls: int
    total_ns: int
    mean_ns: int
    transit_ns: int | None
    wait_ns: int | None
    idle_ns: int | None
    unknown_ns: int
    exposed_ns: int | None
    share_ratio: float | None
    exposed_share_ratio: float | None
    size_bytes: int | None
    members_present: int | None
    members_expected: int | None
    members_exact: bool


class Link(msgspec.Struct, kw_only=True):
    """Traffic of one pair of ranks; `pattern` names a slow sender, receiver or link."""

    group_id: str | None
    src_rank: int
    dst_rank: int
    rank_scope: str
    transport: str | None
    size_bytes: int
    dur_ns: int
    bandwidth_bytes_per_s: float | None
    robust_z: float | None
    pattern: str | None


class CommunicationGrade(msgspec.Struct, kw_only=True):
    """How bad the communication of one profile is: exposed = transit + wait + idle + unknown.

    `grade` is on the exposed transit alone; null where the unknown part could change it. `main_part` is the largest.
    """

    profile_id: int
    rank: int | None
    window_ns: int
    exposed_comm_ns: int
    exposed_transit_ns: int
    exposed_wait_ns: int
    exposed_idle_ns: int
    exposed_unknown_ns: int
    exposed_share_ratio: float | None
    exposed_transit_ratio: float | None
    main_part: Literal["transit", "wait", "idle", "unknown"]
    grade: Literal["normal", "slight", "severe", "extreme"] | None


class RankPair(msgspec.Struct, kw_only=True):
    """Two ranks: how well the links between them are used, and how long the source waits for the destination.

    Attributes:
        group_id: Communicator in which the two numbers are places; null where they are ranks of the job.
        transports: Kinds of links, by commas; null where no transfer was recorded, as size and bandwidth.
        bandwidth_bytes_per_s: Of one stream.
        bandwidth_ratio: Of the peak of the links; null where `bandwidth_reason` says why.
        mean_wait_ns: Per collective; null where nothing was recorded.
    """

    src_rank: int
    dst_rank: int
    group_id: str | None
    transports: str | None
    size_bytes: int | None
    bandwidth_bytes_per_s: float | None
    bandwidth_ratio: float | None
    bandwidth_reason: Literal["no-transfers", "chip-unknown", "link-unknown"] | None
    mean_wait_ns: int | None


class Communication(Section, kw_only=True):
    """Communication by primitive, its sum, its grade per rank, the traffic between pairs of ranks, and their waits."""

    total: Operation | None = None
    operations: list[Operation] = []
    grades: list[CommunicationGrade] = []
    fused_ns: int | None = None
    link_count: int = 0
    links: list[Link] = []
    pair_count: int = 0
    pairs: list[RankPair] = []
