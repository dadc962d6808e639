"""The part of an input that one process of a launcher reads, where no scheduler deals it out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from ascend_sn.errors import UsageError
from ascend_sn.store.environment import launched_as

__all__ = ["Shard"]

_Item = TypeVar("_Item")


class Shard(msgspec.Struct, frozen=True):
    """Part `number` (from 0) of `count`."""

    number: int
    count: int

    @classmethod
    def parsed(cls, text: str) -> Shard:
        """Return the shard that `i/n` names (from 0), or `auto`: the place that the launcher gave this process.

        Raises:
            UsageError: It names none, or no launcher tells.
        """
        if text == "auto":
            place = launched_as()
            if place is None:
                raise UsageError(
                    "--shard auto: none of SLURM_PROCID, RANK, OMPI_COMM_WORLD_RANK, PMI_RANK with its count is set; "
                    "name the shard as i/n"
                )
            return cls(*place)
        found = re.fullmatch(r"(\d+)/(\d+)", text)
        if found is None or not int(found[1]) < int(found[2]):
            raise UsageError(f"--shard {text}: name it as i/n with i from 0 to n - 1, such as 0/8, or auto")
        return cls(int(found[1]), int(found[2]))

    @property
    def name(self) -> str:
        """Name of its folder."""
        return f"shard-{self.number:0{len(str(self.count - 1))}d}-of-{self.count}"

    def of(self, items: Sequence[_Item]) -> list[_Item]:
        """Return its items: every n-th, so that neighbours, which are of one size, are dealt out evenly."""
        return list(items[self.number :: self.count])
