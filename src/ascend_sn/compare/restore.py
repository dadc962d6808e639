"""What of a regression would be recovered if one operator were as fast as before: by replay of the candidate's step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from ascend_sn.compare.attribution import Attribution, Contribution, common_name
from ascend_sn.compare.figures import RunFigures
from ascend_sn.compare.recovery import Recovery
from ascend_sn.model.kinds import COMPUTE_KINDS
from ascend_sn.model.message import Message
from ascend_sn.model.rows import Bool
from ascend_sn.replay import Gain, Replay, Scale, Transform, Unpriced, Where
from ascend_sn.replay.graph import StepGraph
from ascend_sn.store import Run

__all__ = ["recoveries"]

_MOST: Final = 3
_LEAST_RATIO: Final = 0.05
"""Share of the regression that a cause must have to be worth a sentence."""


def recoveries(opened: Callable[[], Run], figures: RunFigures, divided: Attribution) -> list[Recovery]:
    """Say of the largest causes of a regression what restoring each would recover, the most first.

    Args:
        opened: Opens the candidate, where an operator's share is found by replay of its median steady step.
        figures: Its figures.
        divided: The difference, divided.
    """
    if divided.difference_ns <= 0:
        return []
    grown = [row for row in _by_name(divided.rows) if row[1] >= _LEAST_RATIO * divided.difference_ns][:_MOST]
    if not grown:
        return []
    if any(kind == "compute" for (kind, _), _, _, _ in grown):
        with opened() as run:
            replay = Replay.of(run)
            found = [_recovery(entry, replay, figures, divided) for entry in grown]
    else:
        found = [_recovery(entry, None, figures, divided) for entry in grown]
    return sorted(found, key=lambda one: -one.recovered_ns)


_Grown = tuple[tuple[str, str], int, int, int]


def _by_name(rows: Sequence[Contribution]) -> list[_Grown]:
    """Kind and name, what it added, what it took before and takes now; over all shapes, the largest first."""
    sums: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        if row.kind in ("concurrent", "uneven"):
            continue
        total = sums.setdefault((row.kind, row.name), [0, 0, 0])
        for at, value in enumerate((row.delta_ns, row.base_total_ns, row.candidate_total_ns)):
            total[at] += value
    found = [(key, delta, before, after) for key, (delta, before, after) in sums.items()]
    return sorted(found, key=lambda one: (-one[1], one[0]))


def _recovery(entry: _Grown, replay: Replay | Unpriced | None, figures: RunFigures, divided: Attribution) -> Recovery:
    (kind, name), delta, before, after = entry
    gain = _replayed(name, before / after, replay, figures) if kind == "compute" and after else None
    if isinstance(gain, Gain):
        recovered, confidence, why = gain.expected_ns, gain.confidence, None
    else:
        recovered, confidence = delta, "low"
        why = Message(gain.reason.message_id, dict(gain.reason.params)) if gain is not None else None
    return Recovery(
        kind=kind,
        name=name,
        delta_ns=delta,
        recovered_ns=recovered,
        recovered_ratio=recovered / divided.difference_ns,
        method="replay" if isinstance(gain, Gain) else "measured",
        confidence=confidence,
        why_measured=why,
    )


def _replayed(
    name: str, factor: float, replay: Replay | Unpriced | None, figures: RunFigures
) -> Gain | Unpriced | None:
    if replay is None or isinstance(replay, Unpriced):
        return replay
    # The row may stand for all operators of a type, as those of two kinds of device do.
    ops = {row.op for row in figures.work if name in (row.op, common_name(row))}
    chosen = _kernels_of(ops, replay.graph)
    if not bool(chosen.any()):
        return None
    return replay.gain(Transform.exactly("restore", Scale(np.flatnonzero(chosen), min(factor, 1.0))))


def _kernels_of(ops: set[str], graph: StepGraph) -> Bool:
    """Kernels whose operator type, or name where they have none, is one of these."""
    chosen: Bool = Where(kinds=COMPUTE_KINDS, op_types=ops).mask(graph) | Where(kinds=COMPUTE_KINDS, names=ops).mask(
        graph
    )
    return chosen
