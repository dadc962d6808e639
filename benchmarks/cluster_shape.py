"""Where the ranks of a simulated job are: pipeline stages, communicators, hosts, and the links between them.

Ranks are numbered as Megatron does it: neighbours share a tensor-parallel group, then come the data-parallel ones,
then the stages. Up to eight members of a group talk to each other directly (a mesh), more only to the next one (a
ring); ranks that share experts always exchange all with all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["HCCS", "KINDS", "RDMA", "Group", "Int64", "Links", "Shape", "Slowing", "is_mesh", "pairs_of"]

Int64 = npt.NDArray[np.int64]

KINDS: Final = ("tp", "ep", "dp", "pp", "mp")
"""Kinds of communicators; `mp` are the ranks that hold one copy of the model together (all stages, all of tp)."""

HCCS, RDMA = "HCCS", "RDMA"
BYTES_PER_S: Final = {HCCS: 20e9, RDMA: 12.5e9}
"""Bandwidth of a link inside a host and between hosts."""

MESH_AT_MOST: Final = 8


@dataclass(frozen=True)
class Group:
    """A communicator: its members in group order, and the id that the profiler writes for it."""

    kind: str
    id: str
    hash: str
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Shape:
    """Sizes of a job; `ep` ranks of a data-parallel group share the experts, `ranks_per_host` share a host."""

    dp: int
    tp: int = 1
    pp: int = 1
    ep: int = 1
    ranks_per_host: int = 8

    def __post_init__(self) -> None:
        if min(self.dp, self.tp, self.pp, self.ep, self.ranks_per_host) < 1:
            raise ValueError("sizes are 1 or more")
        if self.dp % self.ep:
            raise ValueError(f"ep {self.ep} does not divide dp {self.dp}")

    @property
    def ranks(self) -> int:
        return self.dp * self.tp * self.pp

    @property
    def ranks_of_stage(self) -> int:
        return self.dp * self.tp

    def expert_place(self, rank: int) -> int:
        """Place of a rank among those that share the experts."""
        return rank // self.tp % self.dp % self.ep

    def members(self, kind: str) -> Int64:
        """Ranks of all groups of a kind, one group a row."""
        grid = np.arange(self.ranks, dtype=np.int64).reshape(self.pp, self.dp, self.tp)
        if kind == "tp":
            return grid.reshape(-1, self.tp)
        if kind in ("dp", "ep"):
            return grid.transpose(0, 2, 1).reshape(-1, self.dp if kind == "dp" else self.ep)
        if kind == "pp":
            return grid.transpose(1, 2, 0).reshape(-1, self.pp)
        return grid.transpose(1, 0, 2).reshape(-1, self.pp * self.tp)

    @cached_property
    def group_of(self) -> dict[str, list[Group]]:
        """By kind that has more than one member, the communicator of each rank."""
        found = {}
        seen: dict[str, str] = {}
        for number, kind in enumerate(KINDS):
            rows = self.members(kind)
            if rows.shape[1] < 2:
                continue
            of_rank: dict[int, Group] = {}
            for place, ranks in enumerate(rows.tolist()):
                # The profiler's hash is weak: an id that collides gets another port.
                port = 60_000
                while seen.setdefault(_hash(name := _id(number, place, port)), name) != name:
                    port += 1
                of_rank |= dict.fromkeys(ranks, Group(kind, name, _hash(name), tuple(ranks)))
            found[kind] = [of_rank[rank] for rank in range(self.ranks)]
        return found


@dataclass(frozen=True)
class Slowing:
    """A link that is `factor` times slower: of a pair in both directions, or all links of a rank (`other` is None)."""

    rank: int
    other: int | None
    factor: float


class Links:
    """How fast each pair of ranks is connected."""

    def __init__(self, shape: Shape, slow: tuple[Slowing, ...] = ()) -> None:
        self._host = np.arange(shape.ranks) // shape.ranks_per_host
        self._slow = slow

    def inside_host(self, src: Int64, dst: Int64) -> npt.NDArray[np.bool_]:
        return np.asarray(self._host[src] == self._host[dst])

    def bytes_per_s(self, src: Int64, dst: Int64) -> npt.NDArray[np.float64]:
        speed = np.where(self.inside_host(src, dst), BYTES_PER_S[HCCS], BYTES_PER_S[RDMA])
        for slow in self._slow:
            if slow.other is None:
                meant = (src == slow.rank) | (dst == slow.rank)
            else:
                meant = ((src == slow.rank) & (dst == slow.other)) | ((src == slow.other) & (dst == slow.rank))
            speed = np.where(meant, speed / slow.factor, speed)
        return speed

    def time_ns(self, size_bytes: int, src: Int64, dst: Int64) -> Int64:
        """Whole nanoseconds for the bytes over the link of each pair."""
        return np.ceil(size_bytes * 1e9 / self.bytes_per_s(src, dst)).astype(np.int64)


def is_mesh(kind: str, size: int) -> bool:
    return kind == "ep" or size <= MESH_AT_MOST


def pairs_of(members: Int64, kind: str) -> tuple[Int64, Int64]:
    """Source and destination of the links that each group (a row) uses: columns, by source."""
    size = members.shape[1]
    if is_mesh(kind, size):
        src, dst = np.divmod(np.arange(size * size), size)
        kept = src != dst
        return members[:, src[kept]], members[:, dst[kept]]
    return members, np.roll(members, -1, axis=1)


def _id(kind: int, place: int, port: int) -> str:
    return f"198.51.100.{place % 254 + 1}%eth0_{port}_{kind}_{1_736_410_538_306_028 + place}"


def _hash(text: str) -> str:
    """The exporter's 64-bit hash of a communicator's id, in decimal."""
    high = low = 0
    for character in text:
        high = (high * 29 + ord(character)) & 0xFFFFFFFF
        low = (low * 131 + ord(character)) & 0xFFFFFFFF
    return str(high << 32 | low)
