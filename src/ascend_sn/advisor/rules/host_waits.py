"""R-HOST-2 host waits: the host stops for the device in every step."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.facts import Facts, asked_once
from ascend_sn.advisor.median_step import WHOLE_CAPTURE, MedianStep, where
from ascend_sn.advisor.rule import Claim, Context, Rule, Slices, TextPart
from ascend_sn.advisor.small_kernels import small_kernels
from ascend_sn.advisor.user_frame import user_frame

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE", "waits_per_step"]


class _Stack(msgspec.Struct):
    frames: str


class _Pause(msgspec.Struct):
    """A row of `host_pauses`."""

    profile_id: int
    kind: str
    name: str
    operator_name: str | None
    site: str | None
    calls: int
    total_ns: int
    waited_ns: int | None
    device_free_ns: int | None
    share_ratio: float | None


def check(context: Context) -> Iterator[Claim]:
    """Yield a claim for blocking launches, else one for the waits of the rank that waits longest."""
    pauses = _pauses(context.facts)
    blocking = [pause for pause in pauses if pause.kind == "launch_blocking"]
    waits = [pause for pause in pauses if pause.kind != "launch_blocking"]
    steps = {step.profile_id: step for step in context.device_steps}
    for pause in blocking:
        often = (pause.share_ratio or 0.0) > context.limits["blocking_launches_above_ratio"]
        if pause.profile_id in steps and often and _may_be_set(context, pause.profile_id, waits):
            yield _blocking_launches(context, pause, steps[pause.profile_id], waits)
            return
    found = [(step, _regular(step, waits, context.limits["waits_from_count"])) for step in steps.values()]
    found = [
        (step, own)
        for step, own in found
        if _per_step(step, own) >= context.limits["waited_from_ratio"] * step.window_ns and own
    ]
    if found:
        step, own = max(found, key=lambda pair: _per_step(*pair))
        yield _waits(context, step, own, max(_recoverable_ns(one, _per_step(one, mine)) for one, mine in found))


def waits_per_step(context: Context, step: MedianStep) -> float:
    """Return how often the host of a rank waits for its device in every step."""
    waits = [pause for pause in _pauses(context.facts) if pause.kind != "launch_blocking"]
    return sum(pause.calls for pause in _regular(step, waits)) / step.step_count


@asked_once
def _pauses(facts: Facts) -> list[_Pause]:
    """The waits for the device, by profile, the longest first."""
    pauses = facts.rows("host_pauses", _Pause, lambda row: row["kind"] in ("sync", "implicit_sync", "launch_blocking"))
    return sorted(
        pauses,
        key=lambda row: (row.profile_id, -row.total_ns, row.name, *_nulls_last(row.operator_name, row.site)),
    )


def _nulls_last(*texts: str | None) -> tuple[tuple[bool, str], ...]:
    return tuple((text is None, text or "") for text in texts)


def _may_be_set(context: Context, profile_id: int, waits: list[_Pause]) -> bool:
    """Whether launches may be set to block: the configuration does not deny it, nor are the waits the program's own."""
    profile = next(one for one in context.profiles if one.profile_id == profile_id)
    environment = profile.config.get("environment")
    if isinstance(environment, dict) and "ASCEND_LAUNCH_BLOCKING" in environment:
        return str(environment["ASCEND_LAUNCH_BLOCKING"]) == "1"
    mine = [pause for pause in waits if pause.profile_id == profile_id]
    asked_for = sum(pause.calls for pause in mine if pause.operator_name in _WAITING)
    return 2 * asked_for < sum(pause.calls for pause in mine)


def _regular(step: MedianStep, waits: list[_Pause], per_step: float = 1) -> list[_Pause]:
    """Waits of one rank that come back in every step.

    Without marked steps only those inside an operator are known to be the program's own, and none of them to recur
    unless it is seen twice.
    """
    least = per_step * (2 if step.scope == WHOLE_CAPTURE else step.step_count)
    mine = [pause for pause in waits if pause.profile_id == step.profile_id]
    if step.scope == WHOLE_CAPTURE:
        mine = [pause for pause in mine if pause.operator_name is not None]
    return [pause for pause in mine if pause.calls >= least]


def _per_step(step: MedianStep, waits: list[_Pause]) -> int:
    return sum(pause.total_ns for pause in waits) // step.step_count


def _user_frame(context: Context, pause: _Pause) -> str | None:
    """Return the innermost line of the user's own program that leads to a wait, else the innermost line."""
    if pause.site is None:
        return None
    rows = context.facts.table_rows(_FRAMES, _Stack, profile_id=pause.profile_id, name=pause.operator_name,
                                    site=pause.site)  # fmt: skip
    return (user_frame(rows[0].frames) if rows else None) or pause.site


def _waits(context: Context, step: MedianStep, waits: list[_Pause], recoverable_ns: int) -> Claim:
    limits = context.limits
    most = max(waits, key=lambda pause: pause.total_ns)
    calls = sum(pause.calls for pause in waits) / step.step_count
    site = _user_frame(context, most)
    small = small_kernels(context.facts, step, limits["small_to_ns"], limits["gap_to_ns"])
    between_small = small is not None and small.small_ratio > limits["small_above_ratio"]
    separated = between_small and small is not None and calls >= limits["separated_from_ratio"] * small.small_per_step
    return Claim(
        params={
            "where": where(step, len(context.steps)),
            "wait_count": round(calls, 1),
            "waited_ns": _per_step(step, waits),
            "waited_ratio": _per_step(step, waits) / step.window_ns,
            "place": site or most.operator_name or most.name,
            "place_ns": most.total_ns // step.step_count,
            "small_ratio": 0.0 if small is None else small.small_ratio,
        },
        location=place(step, sorted({pause.operator_name or pause.name for pause in waits}), site or ""),
        evidence=(
            *figures(
                step,
                "host_pauses",
                {
                    "calls": sum(pause.calls for pause in waits),
                    "total_ns": sum(pause.total_ns for pause in waits),
                    "waited_ns": sum(pause.waited_ns or 0 for pause in waits),
                    "device_free_ns": sum(pause.device_free_ns or 0 for pause in waits),
                    "site": site,
                    "operator_name": most.operator_name,
                },
            ),
            *figures(step, "kernel", {"small_ratio": None if small is None else small.small_ratio}),
        ),
        changes=(partial(_waits_removed, names=frozenset(pause.name for pause in waits)),),
        at_stake_ns=recoverable_ns,
        slices=_slices(waits),
        texts=_SEPARATED if separated else {},
    )


def _slices(waits: list[_Pause]) -> Slices:
    """The calls that wait; where no calls were recorded, the operators that stand for them."""
    table = "operator" if all(pause.kind == "implicit_sync" for pause in waits) else "host_call"
    return Slices(table, "name in (select unnest($names))", tuple(sorted({pause.name for pause in waits})))


def _blocking_launches(context: Context, pause: _Pause, step: MedianStep, waits: list[_Pause]) -> Claim:
    names = frozenset(one.name for one in waits if one.profile_id == pause.profile_id and one.kind == "sync")
    return Claim(
        params={
            "where": where(step, len(context.steps)),
            "share_ratio": pause.share_ratio,
            "waited_ns": pause.total_ns // step.step_count,
        },
        location=place(step),
        evidence=figures(
            step, "host_pauses", {"launch_blocking_ratio": pause.share_ratio, "launch_blocking_ns": pause.total_ns}
        ),
        changes=(partial(_waits_removed, names=names),),
        at_stake_ns=_recoverable_ns(step, pause.total_ns // step.step_count),
        slices=Slices("host_call", "name in (select unnest($names))", tuple(sorted(names))),
        texts=_BLOCKING,
        effort="config",
    )


def _recoverable_ns(step: MedianStep, waited_ns: int) -> int:
    """What a host that does not wait can gain at most: as long as the device works, waiting for it costs nothing."""
    return min(waited_ns, step.free_ns)


def _waits_removed(graph: StepGraph, *, names: frozenset[str]) -> Transform | Unpriced:
    from ascend_sn.replay import Where, syncs_removed

    return syncs_removed(graph, Where(names=names, tables=("host_call",)))


_FRAMES: Final = """
    select frames
    from operator
    join stack using (profile_id, stack_id)
    where profile_id = $profile_id and operator.name = $name and split_part(frames, chr(10), 1) = $site
    order by operator_id
    limit 1
"""
_WAITING: Final = (
    "aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::equal", "aten::nonzero", "aten::copy_",
    "aten::_to_copy", "aten::to",
)  # fmt: skip
"""Operators that wait for the device by design, as the program asked."""

_SEPARATED: Final[dict[TextPart, str]] = {
    "title": "rule.r-host-2.title-small",
    "message": "rule.r-host-2.message-small",
}
_BLOCKING: Final[dict[TextPart, str]] = {
    "title": "rule.r-host-2.title-blocking",
    "message": "rule.r-host-2.message-blocking",
    "advice": "rule.r-host-2.advice-blocking",
    "verify": "rule.r-host-2.verify-blocking",
}

RULE = Rule("R-HOST-2", "host-waits", "host", "code", check, needs=("host_pauses",))
