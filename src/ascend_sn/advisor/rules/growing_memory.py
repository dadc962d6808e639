"""R-MEM-2 growing memory: the lowest level of each step rises without end.

A level that rose and settled is a cache; it is said so, and no alarm is made of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from ascend_sn.advisor.device_memory import device_memory, is_of_device
from ascend_sn.advisor.evidence import figures
from ascend_sn.advisor.finding import Location
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Outcome, Rule, TextPart
from ascend_sn.advisor.too_few import too_few_steps
from ascend_sn.advisor.user_frame import user_frame
from ascend_sn.analysis.memory.floor_trend import STEPS_AT_LEAST, WARM_UP_AT_LEAST

__all__ = ["RULE"]

PROCESS: Final = "process"
"""Component that stands for the resident memory of the process."""

_PHASES: Final = ("data", "forward", "backward", "optimizer")

_RECORDED_AT_LEAST: Final = STEPS_AT_LEAST + WARM_UP_AT_LEAST + 1
"""The warm-up is left out, and the level of the first step may not be known before something is allocated."""


class _Curve(msgspec.Struct, kw_only=True):
    """A row of `memory_leak`."""

    profile_id: int
    rank: int | None
    component: str
    verdict: str
    steps: int
    slope_bytes_per_step: float | None
    growth_bytes: float | None
    onset_step: int | None
    phase: str | None
    last_floor_bytes: int | None
    last_peak_bytes: int | None


class _Site(msgspec.Struct, kw_only=True):
    """A row of `leak_sites` that leaks, with its stack where one was recorded."""

    site: str
    operator_name: str
    count_per_step: float
    bytes_per_step: float
    frames: str | None = None


def check(context: Context) -> Iterator[Outcome]:
    """Yield one claim per kind of memory that leaks, the steepest first; else one about the largest cache."""
    curves = context.facts.rows("memory_leak", _Curve)
    if curves and all(curve.verdict == "insufficient" for curve in curves):
        longest = max(curve.steps for curve in curves)
        yield too_few_steps("memory_leak", longest, STEPS_AT_LEAST, record=_RECORDED_AT_LEAST)
    leaks = [curve for curve in curves if curve.verdict == "leak" and curve.slope_bytes_per_step]
    worst: dict[bool, _Curve] = {}
    for curve in sorted(leaks, key=lambda curve: -(curve.slope_bytes_per_step or 0.0)):
        worst.setdefault(is_of_device(curve.component), curve)
    for of_device, curve in worst.items():
        yield _leak(context, curve, [one for one in leaks if is_of_device(one.component) == of_device])
    caches = [curve for curve in curves if curve.verdict == "cache" and _grew(context, curve)]
    if caches and not leaks:
        yield _cache(max(caches, key=lambda curve: curve.growth_bytes or 0.0))


def _leak(context: Context, curve: _Curve, alike: list[_Curve]) -> Claim:
    slope = curve.slope_bytes_per_step or 1.0
    of_device = is_of_device(curve.component)
    site = _largest(context.facts.query("leak_sites", _SITES, _Site, profile_id=curve.profile_id))
    capacity, steps_left = _left(context, curve, slope) if of_device else (None, None)
    left_ns = None if steps_left is None else round(steps_left * _step_ns(context, curve))
    soon = steps_left is not None and steps_left < context.limits["critical_below_steps_count"]
    return Claim(
        params={
            "rank": "?" if curve.rank is None else curve.rank,
            "component": _name(curve),
            "slope_bytes": round(slope),
            "growth_bytes": round(curve.growth_bytes or 0.0),
            "steps_count": curve.steps,
            "onset": "?" if curve.onset_step is None else curve.onset_step,
            "phase": Message(f"phase.{curve.phase}") if curve.phase in _PHASES else "?",
            "site": "?" if site is None else site.site,
            "blocks_count": 0 if site is None else round(site.count_per_step, 1),
            "site_bytes": 0 if site is None else round(site.bytes_per_step),
            "left_count": 0 if steps_left is None else round(steps_left),
            "left_ns": left_ns or 0,
            "capacity_bytes": capacity or 0,
        },
        location=Location(
            profile_ids=tuple(one.profile_id for one in alike),
            ranks=tuple(one.rank for one in alike if one.rank is not None),
            names=() if site is None else (site.operator_name,),
            site="" if site is None else site.site,
        ),
        evidence=figures(
            curve,
            "memory_leak",
            {
                "slope_bytes": round(slope),
                "growth_bytes": round(curve.growth_bytes or 0.0),
                "steps_count": curve.steps,
                "onset_step": curve.onset_step,
                "phase": curve.phase,
                "steps_left_count": None if steps_left is None else round(steps_left),
            },
        )
        + figures(
            curve,
            "leak_sites",
            {} if site is None else {"site": site.site, "site_bytes": round(site.bytes_per_step)},
        ),
        unpriced=Message("unpriced.memory-only"),
        texts=_texts(curve, site, of_device, steps_left),
        grade="leak",
        severity="critical" if soon else "warning",
        in_plan=False,
    )


def _largest(sites: list[_Site]) -> _Site | None:
    """Put the sites of one line of the user's program together, and return the largest."""
    by_line: dict[str, _Site] = {}
    for site in sites:
        line = (user_frame(site.frames) if site.frames else None) or site.site
        known = by_line.get(line)
        by_line[line] = _Site(
            site=line,
            operator_name=site.operator_name if known is None else known.operator_name,
            count_per_step=site.count_per_step + (0.0 if known is None else known.count_per_step),
            bytes_per_step=site.bytes_per_step + (0.0 if known is None else known.bytes_per_step),
        )
    return max(by_line.values(), key=lambda site: site.bytes_per_step, default=None)


def _cache(curve: _Curve) -> Claim:
    return Claim(
        params={
            "rank": "?" if curve.rank is None else curve.rank,
            "component": _name(curve),
            "growth_bytes": round(curve.growth_bytes or 0.0),
            "steps_count": curve.steps,
            "floor_bytes": curve.last_floor_bytes or 0,
        },
        location=Location(profile_ids=(curve.profile_id,), ranks=() if curve.rank is None else (curve.rank,)),
        evidence=figures(
            curve,
            "memory_leak",
            {
                "growth_bytes": round(curve.growth_bytes or 0.0),
                "slope_bytes": round(curve.slope_bytes_per_step or 0.0),
                "steps_count": curve.steps,
            },
        ),
        unpriced=Message("unpriced.memory-only"),
        texts={
            "title": "rule.r-mem-2.title-cache",
            "message": "rule.r-mem-2.message-cache",
            "advice": "rule.r-mem-2.advice-cache",
            "verify": "rule.r-mem-2.verify-cache",
        },
        grade="cache",
        severity="info",
        in_plan=False,
    )


def _name(curve: _Curve) -> Message | str:
    if is_of_device(curve.component):
        return curve.component
    return Message("memory.process" if curve.component == PROCESS else "memory.tensors")


def _grew(context: Context, curve: _Curve) -> bool:
    least = context.limits["cache_from_ratio"] * (curve.last_floor_bytes or 0)
    return bool(curve.growth_bytes and curve.growth_bytes >= least)


def _left(context: Context, curve: _Curve, slope: float) -> tuple[int | None, float | None]:
    """Return the capacity of the device, and the steps until its memory is full; absent where it is not known."""
    own = [
        memory
        for memory in device_memory(context.facts, context.profiles, context.limits["capacity_bytes"])
        if memory.profile_id == curve.profile_id
    ]
    capacity = own[0].capacity_bytes if own else None
    if capacity is None or curve.last_peak_bytes is None:
        return capacity, None
    return capacity, max(capacity - curve.last_peak_bytes, 0) / slope


def _step_ns(context: Context, curve: _Curve) -> int:
    return next((step.window_ns for step in context.steps if step.profile_id == curve.profile_id), 0)


def _texts(curve: _Curve, site: _Site | None, of_device: bool, steps_left: float | None) -> dict[TextPart, str]:
    texts: dict[TextPart, str] = {}
    if not of_device:
        texts["title"] = "rule.r-mem-2.title-host"
    if curve.component == PROCESS:
        texts["message"] = "rule.r-mem-2.message-host"
    elif steps_left is not None:
        texts["message"] = "rule.r-mem-2.message-left"
    if site is not None:
        texts["advice"] = "rule.r-mem-2.advice-site"
    elif curve.phase in _PHASES:
        texts["advice"] = "rule.r-mem-2.advice-phase"
    return texts


_SITES: Final = """
    select site, operator_name, count_per_step, bytes_per_step, stack.frames
    from result
    left join stack using (profile_id, stack_id)
    where result.profile_id = $profile_id and is_leak
    order by bytes_per_step desc, site
    limit 200
"""

RULE = Rule("R-MEM-2", "growing-memory", "memory", "code", check, needs=("memory_leak",), is_risk=True)
