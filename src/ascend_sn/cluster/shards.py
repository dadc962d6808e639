"""The part of an input that one process of a launcher reads, where no scheduler deals it out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

from ascend_sn.errors import UsageError
from ascend_sn.store.environment import launched_as

__all__ = ["Shard"]

_Item = TypeVar("_Item")

_AT_MOST: Final = 100_000
"""Shards of an input: far more than any machine has ranks."""


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
        found = re.fullmatch(r"([0-9]+)/([0-9]+)", text)
        if found is None:
            raise UsageError(f"--shard {text[:40]}: name it as i/n with i from 0 to n - 1, such as 0/8, or auto")
        number, count = (digits.lstrip("0") or "0" for digits in found.groups())
        if len(count) > len(str(_AT_MOST)) or int(count) > _AT_MOST:
            raise UsageError(f"--shard: there are at most {_AT_MOST} shards of an input")
        if len(number) > len(count) or not int(number) < int(count):
            raise UsageError(f"--shard {text[:40]}: name it as i/n with i from 0 to n - 1, such as 0/8, or auto")
        return cls(int(number), int(count))

    @property
    def name(self) -> str:
        """Name of its folder."""
        return f"shard-{self.number:0{len(str(self.count - 1))}d}-of-{self.count}"

    def of(self, items: Sequence[_Item]) -> list[_Item]:
        """Return its items: every n-th, so that neighbours, which are of one size, are dealt out evenly."""
        return list(items[self.number :: self.count])
