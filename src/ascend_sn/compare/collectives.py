"""Collectives by primitive, before and after: how often, how long, and how much of it moved bytes or waited."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ascend_sn.compare.figures import Collectives, RunFigures

__all__ = ["CollectiveChange", "CollectiveSide", "collective_changes"]


class CollectiveSide(msgspec.Struct, frozen=True, kw_only=True):
    """Collectives of one primitive per step and rank, ns; the parts are null where a call lacks them."""

    calls: float
    total_ns: int
    transit_ns: int | None
    wait_ns: int | None


class CollectiveChange(msgspec.Struct, frozen=True, kw_only=True):
    """One primitive on both sides; null on the side that has none of it. Elapsed time counts, hidden or not."""

    op: str
    base: CollectiveSide | None
    candidate: CollectiveSide | None


def collective_changes(base: Sequence[RunFigures], candidate: Sequence[RunFigures]) -> list[CollectiveChange]:
    """Return the primitives of both sides, the longest first."""
    before, after = _by_op(base), _by_op(candidate)
    found = [CollectiveChange(op=op, base=before.get(op), candidate=after.get(op)) for op in {**before, **after}]
    return sorted(found, key=lambda one: (-max(side.total_ns for side in (one.base, one.candidate) if side), one.op))


def _by_op(runs: Sequence[RunFigures]) -> dict[str, CollectiveSide]:
    rows: dict[str, list[tuple[Collectives, int]]] = {}
    for run in runs:
        for row in run.collectives:
            rows.setdefault(row.op, []).append((row, len(runs) * max(run.parts.window_count if run.parts else 1, 1)))
    return {op: _mean(found) for op, found in rows.items()}


def _mean(rows: Sequence[tuple[Collectives, int]]) -> CollectiveSide:
    """Mean over the steps and ranks of all runs; a run without the primitive counts as none of it."""

    def part(values: Sequence[int | None]) -> int | None:
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return None
        return round(sum(value / count for value, (_, count) in zip(known, rows, strict=True)))

    return CollectiveSide(
        calls=sum(row.calls / count for row, count in rows),
        total_ns=round(sum(row.total_ns / count for row, count in rows)),
        transit_ns=part([row.transit_ns for row, _ in rows]),
        wait_ns=part([row.wait_ns for row, _ in rows]),
    )
