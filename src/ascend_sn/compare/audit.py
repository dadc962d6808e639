"""Predicted against real: what the advisor promised for the baseline, and what the candidate made of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from ascend_sn.compare.comparison import MAIN, Comparison
from ascend_sn.errors import UnknownNameError
from ascend_sn.model.predictions import Predictions

__all__ = ["Audit", "AuditRow", "audit"]


class AuditRow(msgspec.Struct, frozen=True, kw_only=True):
    """One prediction beside what came.

    Attributes:
        rule: Rule of the finding.
        change: What was replayed.
        low_ns: Predicted gain per step, at least.
        expected_ns: Most likely.
        high_ns: At most.
        confidence: How far it was trusted.
        is_applied: Whether the user says that this change was made.
        verdict: Whether the real gain lies below, within or above the prediction; null where it was not made, or other
            changes were made with it.
        error_ns: Real minus expected gain; null likewise.
    """

    rule: str
    change: str
    low_ns: int
    expected_ns: int
    high_ns: int
    confidence: Literal["high", "medium", "low"]
    is_applied: bool
    verdict: Literal["below", "within", "above"] | None
    error_ns: int | None


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """The predictions of the baseline's last analysis.

    Attributes:
        made_ns: When they were made, ns since the epoch.
        base_ns: Step that they were about.
        real_ns: Real gain per step: baseline minus candidate.
        rows: The predictions, those in the joint plan first.
        together_ns: Predicted length of the step with all applied changes, where these begin the joint plan; else null.
        real_step_ns: Step of the candidate.
    """

    made_ns: int
    base_ns: int
    real_ns: int
    rows: list[AuditRow]
    together_ns: int | None
    real_step_ns: int


def audit(predictions: Predictions, comparison: Comparison, applied: Sequence[str] = ()) -> Audit | None:
    """Hold predictions against the real change of the step; None where there is nothing to hold.

    Args:
        predictions: What was kept with the baseline.
        comparison: The comparison of that run with a later one.
        applied: Rules or ids of the findings whose changes were made. Only then a prediction is right or wrong: else
            the cause of the real change is not known.

    Raises:
        UnknownNameError: Nothing was predicted for one of `applied`.
    """
    step = comparison.judgement(MAIN)
    if step is None or not predictions.rows:
        return None
    known = sorted({name for row in predictions.rows for name in (row.rule, row.id)})
    wanted = {name.upper() for name in applied}
    for name in applied:
        if name.upper() not in {one.upper() for one in known}:
            raise UnknownNameError("prediction", name, known, None)
    real = round(step.base - step.candidate)
    rows = sorted(predictions.rows, key=lambda row: (row.order is None, row.order or 0, -row.expected_ns))
    made = [row for row in rows if wanted & {row.rule.upper(), row.id.upper()}]
    alone = len(made) == 1
    plan = [row for row in rows if row.order is not None][: len(made)]
    together = plan[-1].after_ns if made and plan and {row.id for row in plan} == {row.id for row in made} else None
    return Audit(
        made_ns=predictions.made_ns,
        base_ns=rows[0].base_ns,
        real_ns=real,
        rows=[
            AuditRow(
                rule=row.rule,
                change=row.change,
                low_ns=row.low_ns,
                expected_ns=row.expected_ns,
                high_ns=row.high_ns,
                confidence=row.confidence,
                is_applied=row in made,
                verdict=_held(real, row.low_ns, row.high_ns) if alone and row in made else None,
                error_ns=real - row.expected_ns if alone and row in made else None,
            )
            for row in rows
        ],
        together_ns=together,
        real_step_ns=round(step.candidate),
    )


def _held(real: int, low: int, high: int) -> Literal["below", "within", "above"]:
    return "below" if real < low else "above" if real > high else "within"
