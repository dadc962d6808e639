"""Which operators changed beyond chance: a rank test of each over the runs, corrected for their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from ascend_sn.compare.attribution import Attribution
from ascend_sn.compare.figures import RunFigures
from ascend_sn.compare.judge import MIN_RUNS
from ascend_sn.compare.statistics import holm, mann_whitney_greater

__all__ = ["OperatorChange", "operator_changes"]

_TESTED: Final = 10
"""Operators that are tested: each further one makes all others harder to tell from chance."""

_KINDS: Final = ("compute", "communication", "copy")


class OperatorChange(msgspec.Struct, frozen=True, kw_only=True):
    """An operator by name, over all shapes and modules.

    Attributes:
        kind: compute, communication or copy.
        name: Operator type, primitive or direction.
        delta_ns: Change per step, ns.
        is_slower: Which way was tested.
        p_value: One-sided, corrected by Holm for all that were tested.
    """

    kind: str
    name: str
    delta_ns: int
    is_slower: bool
    p_value: float


def operator_changes(
    base: Sequence[RunFigures], candidate: Sequence[RunFigures], divided: Attribution
) -> list[OperatorChange]:
    """Test the operators that changed most; empty with fewer than five runs on a side."""
    if min(len(base), len(candidate)) < MIN_RUNS or divided.matched_by == "operator":
        return []
    deltas: dict[tuple[str, str], int] = {}
    for row in divided.rows:
        if row.kind in _KINDS and row.state == "both":
            deltas[row.kind, row.name] = deltas.get((row.kind, row.name), 0) + row.delta_ns
    chosen = sorted(deltas, key=lambda key: (-abs(deltas[key]), key))[:_TESTED]
    p_values = []
    for key in chosen:
        before, after = ([_per_step(run, key) for run in side] for side in (base, candidate))
        p_values.append(mann_whitney_greater(before, after) if deltas[key] > 0 else mann_whitney_greater(after, before))
    return [
        OperatorChange(kind=key[0], name=key[1], delta_ns=deltas[key], is_slower=deltas[key] > 0, p_value=p_value)
        for key, p_value in zip(chosen, holm(p_values), strict=True)
    ]


def _per_step(run: RunFigures, key: tuple[str, str]) -> float:
    total = sum(row.total_ns for row in run.work if (row.kind, row.op) == key)
    return total / max(run.parts.window_count, 1) if run.parts else 0.0
