"""R-HOST-3 garbage collection: Python collects garbage while the device waits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.median_step import MedianStep, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule, Slices, TextPart

if TYPE_CHECKING:
    from ascend_sn.advisor.facts import Facts
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


class _Collections(msgspec.Struct):
    """Recorded collections of a profile over all its steps (A32)."""

    profile_id: int
    calls: int
    total_ns: int
    max_ns: int
    device_free_ns: int | None


class _Guess(msgspec.Struct):
    """Silent stretches of a host that look like collections (A04), in one step."""

    profile_id: int
    cause_ns: int


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the rank that loses most; where no collections were recorded, about likely ones."""
    steps = {step.profile_id: step for step in context.steps if step.window_ns > 0}
    recorded = _recorded(context.facts, steps)
    if recorded:
        row = max(recorded, key=_lost_ns)
        step = steps[row.profile_id]
        if _lost_ns(row) >= context.limits["lost_from_ns"] * step.step_count:
            yield _collected(context, step, row)
        return
    guessed: dict[int, int] = {}
    for guess in context.facts.rows(
        "free_time_causes", _Guess, lambda row: row["cause"] == "gc_guess" and row["scope"] == "step"
    ):
        if guess.profile_id in steps:
            guessed[guess.profile_id] = guessed.get(guess.profile_id, 0) + guess.cause_ns
    if guessed:
        profile_id, guess_ns = max(sorted(guessed.items()), key=lambda item: item[1])
        step = steps[profile_id]
        if guess_ns >= context.limits["guess_from_ratio"] * step.step_count * step.window_mean_ns:
            yield _likely(context, step, guess_ns)


def _recorded(facts: Facts, steps: Mapping[int, MedianStep]) -> list[_Collections]:
    """The collections of all call sites together, by profile."""
    found: dict[int, _Collections] = {}
    for row in facts.rows("host_pauses", _Collections, lambda row: row["kind"] == "gc" and row["profile_id"] in steps):
        own = found.setdefault(row.profile_id, row)
        if own is not row:
            own.calls += row.calls
            own.total_ns += row.total_ns
            own.max_ns = max(own.max_ns, row.max_ns)
            if row.device_free_ns is not None:
                own.device_free_ns = (own.device_free_ns or 0) + row.device_free_ns
    return [found[profile_id] for profile_id in sorted(found)]


def _lost_ns(row: _Collections) -> int:
    """Time in which the device had nothing to do meanwhile; all of it where no kernels were recorded."""
    return row.total_ns if row.device_free_ns is None else row.device_free_ns


def _collected(context: Context, step: MedianStep, row: _Collections) -> Claim:
    per_step = row.total_ns // step.step_count
    return Claim(
        params={
            "where": where(step, len(context.steps)),
            "collection_count": row.calls,
            "step_count": step.step_count,
            "gc_ns": per_step,
            "gc_ratio": per_step / step.window_mean_ns,
            "longest_ns": row.max_ns,
        },
        location=place(step),
        evidence=figures(
            step, "host_pauses", {"gc_calls": row.calls, "gc_ns": row.total_ns, "device_free_ns": row.device_free_ns}
        ),
        changes=(_removed,),
        slices=Slices("host_call", _COLLECTS),
        at_stake_ns=_share_of_step(step, per_step),
    )


def _likely(context: Context, step: MedianStep, guess_ns: int) -> Claim:
    per_step = guess_ns // step.step_count
    return Claim(
        params={
            "where": where(step, len(context.steps)),
            "gc_ns": per_step,
            "gc_ratio": per_step / step.window_mean_ns,
        },
        location=place(step),
        evidence=figures(step, "free_time_causes", {"gc_guess_ns": guess_ns}),
        unpriced=Message("unpriced.only-a-guess"),
        slices=Slices("overlap"),
        at_stake_ns=_share_of_step(step, per_step),
        texts=_LIKELY,
        confidence="low",
    )


def _share_of_step(step: MedianStep, mean_ns: int) -> int:
    """What the mean of all steps is of the median one: a few long pauses may be more than the whole of it."""
    return step.window_ns * mean_ns // step.window_mean_ns


def _removed(graph: StepGraph) -> Transform | Unpriced:
    from ascend_sn.replay import gc_removed

    return gc_removed(graph)


_LIKELY: Final[dict[TextPart, str]] = {
    "title": "rule.r-host-3.title-likely",
    "message": "rule.r-host-3.message-likely",
    "verify": "rule.r-host-3.verify-likely",
}
_COLLECTS: Final = "(profile_id, host_call_id) in (select profile_id, host_call_id from {calls} where class = 'gc')"

RULE = Rule("R-HOST-3", "garbage-collection", "host", "code", check, needs=("host_pauses",))
