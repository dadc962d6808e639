"""What a cluster analysis says of each rank, from either kind of output."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ascend_sn.formats.torch_npu.communication_parts import OpParts
from ascend_sn.formats.torch_npu.links import LinkEntry

__all__ = ["ClusterFigures", "RankFigures", "ranks_in"]

_RANK_SET = re.compile(r"\d+")
_LARGEST_SET: Final = 1 << 20


@dataclass
class RankFigures:
    """Figures of one rank.

    Attributes:
        step_trace: Metric name, step and value in nanoseconds.
        parts: Recorded parts of its collectives.
        links: Traffic that it sent; ranks are global.
        places: Its place in each kind of parallelism.
        host: Host name.
        device_id: Accelerator on the host.
    """

    step_trace: list[tuple[str, int | None, float]] = field(default_factory=list)
    parts: list[OpParts] = field(default_factory=list)
    links: list[LinkEntry] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    host: str | None = None
    device_id: int | None = None


@dataclass
class ClusterFigures:
    """Figures of all ranks.

    Attributes:
        ranks: By rank.
        groups: Kind and members of each communicator, by its hash, or by its ranks where no hash is known.
        base: What the tool says of the whole run (distributed arguments).
        damaged: Tables of which something could not be read, and why.
    """

    ranks: dict[int, RankFigures] = field(default_factory=dict)
    groups: dict[str, tuple[str | None, tuple[int, ...]]] = field(default_factory=dict)
    base: dict[str, Any] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)

    def of(self, rank: int) -> RankFigures:
        """Return the figures of a rank, which are empty at first."""
        return self.ranks.setdefault(rank, RankFigures())

    def add_group(self, group: str | None, kind: str | None, ranks: Sequence[int]) -> None:
        """Note a communicator; without a hash it is noted only where no other has the same ranks."""
        members = tuple(sorted(set(ranks)))
        if not members:
            return
        if group is None:
            if all(known != members for _, known in self.groups.values()):
                self.groups[f"({', '.join(map(str, members))})"] = (kind, members)
            return
        known_kind, _ = self.groups.get(group, (None, ()))
        self.groups[group] = (kind or known_kind, members)


def ranks_in(text: Any) -> tuple[int, ...]:
    """Return the ranks of a set written as `(0, 1)`, `[0,1]` or `(0,)`; empty for anything else."""
    if not isinstance(text, str) or not text.strip().startswith(("(", "[", "{")):
        return ()
    found = _RANK_SET.findall(text)
    return tuple(int(rank) for rank in found) if all(len(rank) < 8 for rank in found[:_LARGEST_SET]) else ()
