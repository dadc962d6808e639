"""A35: what the difference of two steps is made of; the parts add up to it exactly.

A step is its compute, its exposed communication and copies, and its free time. Compute is broken down by operator,
shape and module: `dT = dCalls * mean0 + dMean * calls1`, the first part from more or fewer calls, the second from
slower or faster ones. Communication goes by primitive, of each what no compute hides; free time by its cause. What
kernels that run at the same time share, and what separates the median step from the mean one that all this adds up to,
are rows of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Final, Literal

import msgspec

from ascend_sn.compare.figures import RunFigures, Work

__all__ = ["Attribution", "Contribution", "MatchedBy", "attribution", "common_name"]

Kind = Literal["compute", "communication", "copy", "free", "concurrent", "uneven"]
MatchedBy = Literal["op, shape, module", "op, shape", "op, module", "op", "operator"]

_Key = tuple[str, str, str | None, str | None]

_ASCEND_CALL: Final = "aclnn"
"""Front of the names of Ascend's operator calls; behind it is the framework's name, as in aclnnMm."""

ENOUGH_MATCHED: Final = 0.5
"""Share of the operator time that must have a counterpart; else a coarser match is tried."""


class Contribution(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the difference, per step.

    Attributes:
        kind: compute, communication, copy; `free` time by cause; `concurrent`: time that kernels beside each other
            share; `uneven`: between the mean step, which the other rows add up to, and the one that is compared.
        name: Operator, primitive, direction, or cause.
        shapes: Input shapes, where they told the operators apart.
        module: Module, where it did.
        state: `new` and `removed` ones are on one side only.
        base_calls: Calls per step; null for time that nobody called for.
        candidate_calls: The same.
        base_total_ns: Per step.
        candidate_total_ns: Per step.
        delta_ns: What it adds to the step.
        calls_ns: Of this, by the number of calls at the earlier mean.
        mean_ns: Of this, by the mean at the present number of calls.
    """

    kind: Kind
    name: str
    shapes: str | None
    module: str | None
    state: Literal["both", "new", "removed"]
    base_calls: float | None
    candidate_calls: float | None
    base_total_ns: int
    candidate_total_ns: int
    delta_ns: int
    calls_ns: int | None
    mean_ns: int | None


class Attribution(msgspec.Struct, frozen=True, kw_only=True):
    """The difference and its parts, the largest first; they sum to `difference_ns`.

    Attributes:
        difference_ns: Candidate minus baseline.
        matched_by: What told operators apart; the finest that finds counterparts for half of the operator time.
        matched_ratio: Share of the operator time of both sides that has a counterpart.
        explained_ratio: Share of the difference in rows with a name; null without a difference.
        rows: All parts.
    """

    difference_ns: int
    matched_by: MatchedBy
    matched_ratio: float
    explained_ratio: float | None
    rows: list[Contribution]


def attribution(
    base: Sequence[RunFigures], candidate: Sequence[RunFigures], base_ns: int, candidate_ns: int
) -> Attribution | None:
    """Divide the difference between two steps; None where a run has no kernels.

    Args:
        base: Runs of the baseline; each counts the same.
        candidate: Runs of the candidate.
        base_ns: The step of the baseline that is compared, ns.
        candidate_ns: That of the candidate.
    """
    if any(run.parts is None for run in (*base, *candidate)):
        return None
    matched_by, before, after = _matched(base, candidate)
    parts = [_of_work(key, before.get(key), after.get(key)) for key in sorted({*before, *after}, key=str)]
    free = [_free(side) for side in (base, candidate)]
    parts += [_time("free", name, free[0].get(name), free[1].get(name)) for name in sorted({*free[0], *free[1]})]
    shared = [_concurrent(side, work) for side, work in ((base, before), (candidate, after))]
    parts.append(_time("concurrent", "concurrent", *shared))
    windows = [_window(side) for side in (base, candidate)]
    parts.append(_time("uneven", "uneven", base_ns - windows[0], candidate_ns - windows[1]))
    rows = _rounded(parts)
    difference = candidate_ns - base_ns
    unnamed = sum(row.delta_ns for row in rows if row.kind in ("concurrent", "uneven") or row.name == "unknown")
    return Attribution(
        difference_ns=difference,
        matched_by=matched_by,
        matched_ratio=_matched_ratio(before, after),
        explained_ratio=None if not difference else max(0.0, 1 - abs(unnamed / difference)),
        rows=sorted(rows, key=lambda row: (-abs(row.delta_ns), row.kind, row.name, row.shapes or "", row.module or "")),
    )


def common_name(row: Work) -> str:
    """Return what an operator is called on every device: the type of the framework operator behind it."""
    if row.kind != "compute":
        return row.op
    from ascend_sn.analysis.operator_names import type_of  # with it come all analyses and DuckDB

    return type_of((row.operator or row.op).removeprefix(_ASCEND_CALL))


class _Total(msgspec.Struct, frozen=True):
    """Calls and time per step, exactly."""

    calls: Fraction
    total: Fraction


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """A contribution before it is rounded."""

    kind: Kind
    name: str
    shapes: str | None = None
    module: str | None = None
    before: Fraction
    after: Fraction
    calls_before: Fraction | None = None
    calls_after: Fraction | None = None
    by_calls: Fraction | None = None
    state: Literal["both", "new", "removed"] = "both"


_Totals = dict[_Key, _Total]


def _matched(base: Sequence[RunFigures], candidate: Sequence[RunFigures]) -> tuple[MatchedBy, _Totals, _Totals]:
    """Sum both sides by the finest key that matches enough of them."""
    runs = (*base, *candidate)
    tried = []
    for matched_by, key in _keys(runs):
        before, after = _totals(base, key), _totals(candidate, key)
        ratio = _matched_ratio(before, after)
        if ratio >= ENOUGH_MATCHED:
            return matched_by, before, after
        tried.append((ratio, matched_by, before, after))
    _, matched_by, before, after = max(tried, key=lambda one: one[0])
    return matched_by, before, after


def _keys(runs: Sequence[RunFigures]) -> list[tuple[MatchedBy, Callable[[Work], _Key]]]:
    """Keys from the finest to the coarsest that the runs have; kernels of two kinds of device share no name."""
    by_operator: tuple[MatchedBy, Callable[[Work], _Key]] = (
        "operator",
        lambda row: (row.kind, common_name(row), None, None),
    )
    if len({tuple(run.device_kinds) for run in runs}) > 1:
        return [by_operator]
    shapes, modules = all(run.has_shapes for run in runs), all(run.has_modules for run in runs)
    found: list[tuple[MatchedBy, Callable[[Work], _Key]]] = []
    if shapes and modules:
        found.append(("op, shape, module", lambda row: (row.kind, row.op, row.shapes, row.module)))
    if shapes:
        found.append(("op, shape", lambda row: (row.kind, row.op, row.shapes, None)))
    if modules:
        found.append(("op, module", lambda row: (row.kind, row.op, None, row.module)))
    found.append(("op", lambda row: (row.kind, row.op, None, None)))
    return [*found, by_operator]


def _totals(runs: Sequence[RunFigures], key: Callable[[Work], _Key]) -> _Totals:
    sums: dict[_Key, tuple[Fraction, Fraction]] = {}
    for run in runs:
        count = _count(run) * len(runs)
        for row in run.work:
            calls, total = sums.get(key(row), (Fraction(0), Fraction(0)))
            sums[key(row)] = calls + Fraction(row.calls, count), total + Fraction(row.total_ns, count)
    return {found: _Total(calls, total) for found, (calls, total) in sums.items()}


def _matched_ratio(before: _Totals, after: _Totals) -> float:
    everything = sum(row.total for side in (before, after) for row in side.values())
    if not everything:
        return 1.0
    common = set(before) & set(after)
    return float(sum(before[key].total + after[key].total for key in common) / everything)


def _of_work(key: _Key, before: _Total | None, after: _Total | None) -> _Part:
    kind, name, shapes, module = key
    nothing = _Total(Fraction(0), Fraction(0))
    was, now = before or nothing, after or nothing
    mean = was.total / was.calls if was.calls else Fraction(0)
    # A new one has no earlier mean: all of it is there because it is called.
    by_calls = (now.calls - was.calls) * mean if before else now.total
    return _Part(
        kind="compute" if kind == "compute" else "copy" if kind == "copy" else "communication",
        name=name,
        shapes=shapes,
        module=module,
        before=was.total,
        after=now.total,
        calls_before=was.calls,
        calls_after=now.calls,
        by_calls=by_calls,
        state="new" if before is None else "removed" if after is None else "both",
    )


def _time(kind: Kind, name: str, before: Fraction | None, after: Fraction | None) -> _Part:
    return _Part(kind=kind, name=name, before=before or Fraction(0), after=after or Fraction(0))


def _free(runs: Sequence[RunFigures]) -> dict[str, Fraction]:
    causes: dict[str, Fraction] = {}
    for run in runs:
        for cause, total in (run.parts.free if run.parts else {}).items():
            causes[cause] = causes.get(cause, Fraction(0)) + Fraction(total, _count(run) * len(runs))
    return causes


def _concurrent(runs: Sequence[RunFigures], work: _Totals) -> Fraction:
    """Busy time of the device less the kernels' own: what those that run beside each other share; mostly negative."""
    busy = sum(
        Fraction(run.parts.compute_ns + run.parts.exposed_comm_ns + run.parts.exposed_copy_ns, _count(run) * len(runs))
        for run in runs
        if run.parts is not None
    )
    return busy - sum((row.total for row in work.values()), Fraction(0))


def _window(runs: Sequence[RunFigures]) -> Fraction:
    return sum(
        (Fraction(run.parts.window_ns, _count(run) * len(runs)) for run in runs if run.parts is not None), Fraction(0)
    )


def _count(run: RunFigures) -> int:
    return max(run.parts.window_count, 1) if run.parts else 1


def _rounded(parts: Sequence[_Part]) -> list[Contribution]:
    """Round to ns so that the sum stays exact: each is what the rounded running sum grows by."""
    sums = [0, *(round(running) for running in accumulate(part.after - part.before for part in parts))]
    rows = []
    for part, (low, high) in zip(parts, pairwise(sums), strict=True):
        by_calls = None if part.by_calls is None else round(part.by_calls)
        rows.append(
            Contribution(
                kind=part.kind,
                name=part.name,
                shapes=part.shapes,
                module=part.module,
                state=part.state,
                base_calls=None if part.calls_before is None else float(part.calls_before),
                candidate_calls=None if part.calls_after is None else float(part.calls_after),
                base_total_ns=round(part.before),
                candidate_total_ns=round(part.after),
                delta_ns=high - low,
                calls_ns=by_calls,
                mean_ns=None if by_calls is None else high - low - by_calls,
            )
        )
    return [row for row in rows if row.delta_ns or row.base_total_ns or row.candidate_total_ns]
