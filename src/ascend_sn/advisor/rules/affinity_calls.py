"""R-OP-2 affinity calls: a sequence of operators for which the device has one fused call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from ascend_sn.advisor.changes import operators_fused, optimizer_fused
from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.median_step import MedianStep, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.optimizer_kernels import optimizer_kernels
from ascend_sn.advisor.rule import Claim, Context, Rule

if TYPE_CHECKING:
    from ascend_sn.advisor.facts import Facts
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]

_KERNELS_NAMED: Final = 2
"""Kernels of the optimizer that stand beside its call."""

_Number = TypeVar("_Number", int, float)


class _Match(msgspec.Struct):
    """A row of `affinity_matches`; of all its phases and sequences together, named after the largest."""

    profile_id: int
    api: str
    since: str
    sequence: str
    matches: int
    host_ns: int
    device_ns: int | None
    kernels: int | None
    share_ratio: float | None
    module: str | None


class _Count(msgspec.Struct):
    operators: int


def check(context: Context) -> Iterator[Claim]:
    """Yield a claim per call, on the rank where it would replace most, the largest first."""
    limits = context.limits
    steps = {step.profile_id: step for step in context.device_steps}
    seen: dict[str, str] = {}
    for match in _matches(context.facts):
        step = steps.get(match.profile_id)
        if step is None or match.api in seen:
            continue
        share = match.share_ratio or 0.0
        device_ns = round(share * step.compute_ns)
        host_ns = match.host_ns // step.step_count
        if max(device_ns, 0 if match.device_ns else host_ns) < limits["time_from_ratio"] * step.window_ns:
            continue
        longer = next((api for api, sequence in seen.items() if f" {match.sequence} " in f" {sequence} "), None)
        seen[match.api] = match.sequence
        yield _claim(context, step, match, longer)


def _claim(context: Context, step: MedianStep, match: _Match, longer: str | None) -> Claim:
    optimizer = match.api.startswith(("torch_npu.optim.", "optimizer."))
    share = match.share_ratio or 0.0
    device_ns = round(share * step.compute_ns)
    reason = None
    version = _version(context, step)
    if version is not None and _older(version, match.since):
        params = {"api": match.api, "since": match.since, "version": version}
        reason = Message("suppressed.version-lacks-call", params)
    elif longer is not None:
        reason = Message("suppressed.part-of", {"api": longer})
    elif optimizer and not _trains(context):
        reason = Message("suppressed.not-training", {"api": match.api})
    top = optimizer_kernels(context.facts).get(step.profile_id, [])[:_KERNELS_NAMED] if optimizer else []
    largest: Message | str = ""
    if top:
        kernels_ns = sum(row["total_ns"] for row in context.facts.rows_of("kernel_statistics", step.profile_id))
        kernel = {"op_type": top[0].op_type, "kernel_ns": top[0].total_ns // step.step_count}
        largest = Message("rule.r-op-2.largest", {**kernel, "share_ratio": top[0].total_ns / kernels_ns})
    return Claim(
        params={
            "where": where(step, len(context.steps)),
            "api": match.api,
            "since": match.since,
            "sequence": match.sequence,
            "match_count": round(match.matches / step.step_count, 1),
            "kernel_count": round((match.kernels or 0) / step.step_count, 1),
            "device_ns": device_ns,
            "host_ns": match.host_ns // step.step_count,
            "share_ratio": share,
            "largest": largest,
        },
        location=place(step, [match.sequence, *(kernel.op_type for kernel in top)], match.module or ""),
        evidence=(
            *figures(
                step,
                "affinity_matches",
                {
                    "matches": match.matches,
                    "device_ns": match.device_ns,
                    "host_ns": match.host_ns,
                    "kernels": match.kernels,
                    "share_ratio": match.share_ratio,
                },
            ),
            *(
                evidence
                for kernel in top
                for evidence in figures(step, "kernel", {f"{kernel.op_type}_ns": kernel.total_ns})
            ),
        ),
        changes=(optimizer_fused if optimizer else partial(_sequence_fused, facts=context.facts, match=match),),
        at_stake_ns=device_ns or match.host_ns // step.step_count,
        suppressed_by=reason,
        texts={"title": "rule.r-op-2.title-call"},
        tells_hidden=True,
    )


def _sequence_fused(graph: StepGraph, *, facts: Facts, match: _Match) -> Transform | Unpriced:
    from ascend_sn.analysis.kernels.affinity_matches import matched_operators

    return operators_fused(graph, match.profile_id, matched_operators(facts.run.db, match.profile_id, match.api))


def _matches(facts: Facts) -> list[_Match]:
    """The matches of each call on each profile, those that take most first."""
    found: dict[tuple[int, str], list[_Match]] = {}
    for row in facts.rows("affinity_matches", _Match):
        found.setdefault((row.profile_id, row.api), []).append(row)
    matches = [_together(rows) for rows in found.values()]
    return sorted(
        matches, key=lambda row: (row.device_ns is None, -(row.device_ns or 0), -row.host_ns, row.api, row.profile_id)
    )


def _together(rows: list[_Match]) -> _Match:
    largest = max(rows, key=lambda row: row.host_ns if row.device_ns is None else row.device_ns)
    return _Match(
        profile_id=rows[0].profile_id,
        api=rows[0].api,
        since=rows[0].since,
        sequence=largest.sequence,
        matches=sum(row.matches for row in rows),
        host_ns=sum(row.host_ns for row in rows),
        device_ns=_known(row.device_ns for row in rows),
        kernels=_known(row.kernels for row in rows),
        share_ratio=_known(row.share_ratio for row in rows),
        module=next((row.module for row in rows if row.module is not None), None),
    )


def _known(values: Iterable[_Number | None]) -> _Number | None:
    """Sum what is known; None when nothing is."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None


def _trains(context: Context) -> bool:
    """Whether a backward pass was seen."""
    if any(phases.backward_ns for phases in context.phases):
        return True
    rows = context.facts.table_rows("select count(*) as operators from operator where phase = 'backward'", _Count)
    return rows[0].operators > 0


def _version(context: Context, step: MedianStep) -> str | None:
    """The CANN version of a profile, where the capture has it."""
    versions = next(one.versions for one in context.profiles if one.profile_id == step.profile_id)
    found = next((versions[name] for name in ("cann", "CANN") if versions.get(name) is not None), None)
    return None if found is None else str(found)


def _older(version: str, since: str) -> bool:
    """Whether a version comes before another; parts that are no numbers (RC2) come before the release."""
    return _parts(version) < _parts(since)


def _parts(version: str) -> list[tuple[int, int]]:
    parts = []
    for part in version.upper().replace("-", ".").split(".")[:3]:
        digits = "".join(letter for letter in part if letter.isdigit())
        parts.append((0 if part.startswith(("RC", "T", "B", "ALPHA", "BETA")) else 1, int(digits or 0)))
    return parts


RULE = Rule("R-OP-2", "affinity-calls", "compute", "code", check, needs=("affinity_matches",))
