"""Whether two groups of runs can be compared at all, and what must be said before any figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ascend_sn.compare.figures import RunFigures
from ascend_sn.model.message import Message

__all__ = ["Comparability", "comparability"]

_NAMED: Final = 8


@dataclass(frozen=True)
class Comparability:
    """What stands against a comparison.

    Attributes:
        obstacles: Why the runs cannot be compared; empty where they can.
        remarks: What differs and has to be known, the most important first.
        is_scaling: Whether the sides are of different size, so that speed-up takes the place of a verdict.
        is_same_setup: Whether device, size and structure of the job are the same: what a gate asks for.
    """

    obstacles: tuple[Message, ...]
    remarks: tuple[Message, ...]
    is_scaling: bool
    is_same_setup: bool


def comparability(base: Sequence[RunFigures], candidate: Sequence[RunFigures]) -> Comparability:
    """Look at what stands against comparing a candidate with a baseline."""
    obstacles = [
        *_unusable(base, Message("compare.the-baseline")),
        *_unusable(candidate, Message("compare.the-candidate")),
    ]
    setup = [*_size(base, candidate), *_structure(base, candidate), *_devices(base, candidate)]
    remarks = [*setup, *_steps(base, candidate), *_damage(base, candidate), *_versions(base, candidate)]
    return Comparability(
        obstacles=tuple(obstacles or _lost_ranks(base, candidate)),
        remarks=tuple(remarks),
        is_scaling=_sizes(base) != _sizes(candidate),
        is_same_setup=not setup,
    )


def _unusable(runs: Sequence[RunFigures], side: Message) -> Iterator[Message]:
    """Runs without steps or device data, and runs of one side that do not belong together."""
    for run in runs:
        if run.silent_ranks:
            ranks = ", ".join("?" if rank is None else str(rank) for rank in run.silent_ranks[:_NAMED])
            yield Message("compare.no-device-data", {"side": side, "run": run.name, "ranks": ranks})
        elif not run.steps:
            yield Message("compare.empty", {"side": side, "run": run.name})
    sizes, kinds = _sizes(runs), {"+".join(run.device_kinds) for run in runs}
    if len(sizes) > 1:
        yield Message("compare.mixed-size", {"side": side, "values": ", ".join(map(str, sorted(sizes)))})
    if len(kinds) > 1:
        yield Message("compare.mixed-kind", {"side": side, "values": ", ".join(sorted(kinds))})
    scopes = {run.scope for run in runs}
    if len(scopes) > 1:
        yield Message("compare.mixed-steps", {"side": side})


def _lost_ranks(base: Sequence[RunFigures], candidate: Sequence[RunFigures]) -> Iterator[Message]:
    """Ranks that a run lacks and the other side has, unless the jobs are of different size.

    Where nothing states the size, a candidate with fewer of the same ranks has lost them; one with more has grown.
    """
    before, after = (set[int]().union(*(run.ranks for run in side)) for side in (base, candidate))
    if all(run.world_size for run in (*base, *candidate)):
        if _sizes(base) == _sizes(candidate):
            yield from _lacking(base, after)
            yield from _lacking(candidate, before)
    elif after < before:
        yield from _lacking(candidate, before)


def _lacking(runs: Sequence[RunFigures], expected: set[int]) -> Iterator[Message]:
    for run in runs:
        lost = sorted(expected - set(run.ranks))
        if lost:
            ranks = ", ".join(map(str, lost[:_NAMED])) + (", \u2026" if len(lost) > _NAMED else "")
            yield Message("compare.lost-rank", {"run": run.name, "ranks": ranks, "count": len(lost)})


def _size(base: Sequence[RunFigures], candidate: Sequence[RunFigures]) -> Iterator[Message]:
    before, after = _sizes(base), _sizes(candidate)
    if before != after and len(before) == len(after) == 1:
        yield Message("compare.other-size", {"base": before.copy().pop(), "candidate": after.copy().pop()})


def _structure(base: Sequence[RunFigures], candidate: Sequence[RunFigures]) -> Iterator[Message]:
    before, after = {tuple(run.groups) for run in base}, {tuple(run.groups) for run in candidate}
    if before != after and _sizes(base) == _sizes(candidate) and all(before) and all(after):
        was, now = (", ".join(sorted(side)[0]) for side in (before, after))
        yield Message("compare.other-structure", {"base": was, "candidate": now})


def _devices(base: Sequence[RunFigures], candidate: Sequence[RunFigures]) -> Iterator[Message]:
    """Chips where all runs name theirs, else kinds."""
    named = all(run.device_names for run in (*base, *candidate))
    before, after = (
        sorted({name for run in side for name in (run.device_names if named else run.device_kinds)})
        for side in (base, candidate)
    )
    if before != after:
        yield Message("compare.other-device", {"base": ", ".join(before), "candidate": ", ".join(after)})


def _steps(base: Sequence[RunFigures], candidate: Sequence[RunFigures]) -> Iterator[Message]:
    scopes = {run.scope for run in (*base, *candidate)}
    if len(scopes) > 1:
        yield Message("compare.other-steps")
    elif "inferred step" in scopes:
        yield Message("compare.inferred-steps")
    elif "whole capture" in scopes:
        yield Message("compare.whole-capture")
    before, after = {run.all_step_count for run in base}, {run.all_step_count for run in candidate}
    if before != after:
        was, now = ("/".join(map(str, sorted(side))) for side in (before, after))
        yield Message("compare.other-step-count", {"base": was, "candidate": now})


def _damage(base: Sequence[RunFigures], candidate: Sequence[RunFigures]) -> Iterator[Message]:
    damaged = [run.name for run in (*base, *candidate) if run.damage_count]
    if damaged:
        yield Message("compare.damaged", {"runs": ", ".join(dict.fromkeys(damaged[:_NAMED]))})


def _versions(base: Sequence[RunFigures], candidate: Sequence[RunFigures]) -> Iterator[Message]:
    versions = {run.tool_version for run in (*base, *candidate)}
    if len(versions) > 1:
        yield Message("compare.other-version", {"versions": ", ".join(sorted(versions))})


def _sizes(runs: Sequence[RunFigures]) -> set[int]:
    return {run.size for run in runs}
