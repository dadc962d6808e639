"""The figures behind a claim, and what it is about, from what rules have in hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ascend_sn.advisor.finding import Evidence, Location

__all__ = ["OfRank", "figures", "place"]


class OfRank(Protocol):
    """Anything that is about one profile: its median step, or a row of an analysis."""

    @property
    def profile_id(self) -> int:
        """The profile."""

    @property
    def rank(self) -> int | None:
        """Its rank."""


def figures(step: OfRank, source: str, values: Mapping[str, int | float | str | None]) -> tuple[Evidence, ...]:
    """Return figures of one rank from one analysis or table; those that were not collected are left out."""
    ranks = () if step.rank is None else (step.rank,)
    return tuple(
        Evidence(name=name, value=value, source=source, ranks=ranks)
        for name, value in values.items()
        if value is not None
    )


def place(step: OfRank, names: Sequence[str] = (), site: str = "") -> Location:
    """Return a location on one rank: operators, kernels or calls, and the line of the program."""
    ranks = () if step.rank is None else (step.rank,)
    return Location(profile_ids=(step.profile_id,), ranks=ranks, names=tuple(names), site=site)
