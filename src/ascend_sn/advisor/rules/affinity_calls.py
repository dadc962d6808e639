"""R-OP-2 affinity calls: a sequence of operators for which the device has one fused call."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.changes import operators_fused, optimizer_fused
from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.median_step import MedianStep, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule

if TYPE_CHECKING:
    from ascend_sn.advisor.facts import Facts
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


class _Match(msgspec.Struct):
    """A row of `affinity_matches`, of all its phases and sequences."""

    profile_id: int
    api: str
    since: str
    sequence: str
    phase: str
    matches: int
    host_ns: int
    device_ns: int | None
    kernels: int | None
    share_ratio: float | None
    module: str | None


class _Versions(msgspec.Struct):
    cann: str | None


class _Count(msgspec.Struct):
    operators: int


class _Kernel(msgspec.Struct):
    op_type: str
    total_ns: int
    share_ratio: float


def check(context: Context) -> Iterator[Claim]:
    """Yield a claim per call, on the rank where it would replace most, the largest first."""
    limits = context.limits
    steps = {step.profile_id: step for step in context.device_steps}
    seen: dict[str, str] = {}
    training = _trains(context)
    for match in context.facts.query("affinity_matches", _MATCHES, _Match):
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
        yield _claim(context, step, match, training, longer)


def _claim(context: Context, step: MedianStep, match: _Match, training: bool, longer: str | None) -> Claim:
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
    elif optimizer and not training:
        reason = Message("suppressed.not-training", {"api": match.api})
    top = _kernels(context, step) if optimizer else []
    largest: Message | str = ""
    if top:
        kernel = {"op_type": top[0].op_type, "kernel_ns": top[0].total_ns // step.step_count}
        largest = Message("rule.r-op-2.largest", {**kernel, "share_ratio": top[0].share_ratio})
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
    from ascend_sn.analysis.affinity_matches import matched_operators

    return operators_fused(graph, match.profile_id, matched_operators(facts.run.db, match.profile_id, match.api))


def _kernels(context: Context, step: MedianStep) -> list[_Kernel]:
    """The largest kernels of the optimizer, with their share of all computing kernels."""
    return context.facts.table_rows(_LARGEST, _Kernel, profile_id=step.profile_id)


def _trains(context: Context) -> bool:
    """Whether a backward pass was seen."""
    rows = context.facts.table_rows("select count(*) as operators from operator where phase = 'backward'", _Count)
    return rows[0].operators > 0


def _version(context: Context, step: MedianStep) -> str | None:
    """The CANN version of a profile, where the capture has it."""
    rows = context.facts.table_rows(
        """
        select coalesce(versions ->> '$.cann', versions ->> '$.CANN') as cann
        from profile
        where profile_id = $profile_id and json_valid(versions)
        """,
        _Versions,
        profile_id=step.profile_id,
    )
    return rows[0].cann if rows else None


def _older(version: str, since: str) -> bool:
    """Whether a version comes before another; parts that are no numbers (RC2) come before the release."""
    return _parts(version) < _parts(since)


def _parts(version: str) -> list[tuple[int, int]]:
    parts = []
    for part in version.upper().replace("-", ".").split(".")[:3]:
        digits = "".join(letter for letter in part if letter.isdigit())
        parts.append((0 if part.startswith(("RC", "T", "B", "ALPHA", "BETA")) else 1, int(digits or 0)))
    return parts


_MATCHES: Final = """
    select profile_id, api, any_value(since) as since, arg_max(sequence, coalesce(device_ns, host_ns)) as sequence,
           any_value(phase) as phase, sum(matches)::bigint as matches, sum(host_ns)::bigint as host_ns,
           sum(device_ns)::bigint as device_ns, sum(kernels)::bigint as kernels,
           sum(share_ratio)::double as share_ratio, any_value(module) as module
    from result
    group by profile_id, api
    order by sum(device_ns) desc nulls last, sum(host_ns) desc, api, profile_id
"""
_LARGEST: Final = """
    with busy as (
        select coalesce(kernel.op_type, kernel.name, '(unnamed)') as op_type, kernel.dur_ns, operator.phase
        from kernel
        left join (select profile_id, operator_id, phase from operator) operator using (profile_id, operator_id)
        where profile_id = $profile_id and kind in ('compute', 'fused')
    )
    select op_type, sum(dur_ns)::bigint as total_ns,
           (sum(dur_ns) / (select sum(dur_ns) from busy))::double as share_ratio
    from busy
    where phase = 'optimizer'
    group by op_type
    order by total_ns desc, op_type
    limit 2
"""

RULE = Rule("R-OP-2", "affinity-calls", "compute", "code", check, needs=("affinity_matches",))
