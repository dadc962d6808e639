"""R-DATA-4 epoch spikes: the loader starts anew in every epoch, and the step that asks it first waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Final

import msgspec

from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.median_step import is_marked
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, DirectGain, Outcome, Rule, Slices
from ascend_sn.advisor.too_few import too_few_epochs, too_few_steps

__all__ = ["RULE"]


class _Step(msgspec.Struct, kw_only=True):
    """A marked step: the time in which only data is loaded (A03b)."""

    profile_id: int
    rank: int | None
    step_id: int
    window_ns: int
    data_ns: int


class _Marked(msgspec.Struct):
    profile_id: int
    step_id: int


class _Epochs(msgspec.Struct):
    """Epochs of the profile with most of them; absent where steps have none."""

    epochs: int | None


class _Epoch(msgspec.Struct):
    step_id: int
    epoch: int


def check(context: Context) -> Iterator[Outcome]:
    """Yield one claim, about the rank that loses most."""
    marked = {(row.profile_id, row.step_id) for row in context.facts.rows("step_breakdown", _Marked, is_marked)}
    by_profile: dict[int, list[_Step]] = {}
    for step in context.facts.rows("step_phases", _Step, lambda row: (row["profile_id"], row["step_id"]) in marked):
        by_profile.setdefault(step.profile_id, []).append(step)
    claims = [
        claim
        for steps in by_profile.values()
        if (places := _places(context, steps))
        for claim in _spikes(context, steps, places)
    ]
    if claims:
        yield max(claims, key=lambda claim: claim.at_stake_ns or 0)
        return
    steps_least = round(context.limits["steps_after_start_count"]) + 2  # the start of the training is no spike
    longest = max(map(len, by_profile.values()), default=steps_least)
    if longest < steps_least:
        yield too_few_steps("step_phases", longest, steps_least)
    epochs_least = round(context.limits["epochs_from_count"])
    for most in context.facts.table_rows(_MOST_EPOCHS, _Epochs):
        if longest >= steps_least and most.epochs is not None and most.epochs < epochs_least:
            yield too_few_epochs("step_phases", most.epochs, epochs_least)


def _places(context: Context, steps: Sequence[_Step]) -> list[int]:
    """Which steps of a profile load data for much longer than the others."""
    limits = context.limits
    data_ns, window_ns = median(step.data_ns for step in steps), median(step.window_ns for step in steps)
    least_ns = max(limits["spike_from_ratio"] * data_ns, data_ns + limits["of_step_from_ratio"] * window_ns)
    return [at for at, step in enumerate(steps) if step.data_ns >= least_ns]


def _spikes(context: Context, steps: Sequence[_Step], places: Sequence[int]) -> Iterator[Claim]:
    limits = context.limits
    data_ns, window_ns = median(step.data_ns for step in steps), median(step.window_ns for step in steps)
    epoch_of = {
        row.step_id: row.epoch for row in context.facts.table_rows(_EPOCHS, _Epoch, profile_id=steps[0].profile_id)
    }
    by_epoch = [epoch_of.get(step.step_id) for step in steps]
    epochs = set(by_epoch) - {None}
    if epochs and not all(_is_first(by_epoch, at, limits["steps_after_start_count"]) for at in places):
        return
    later = [at for at in places if at > limits["steps_after_start_count"]]
    if not epochs and not _is_periodic(places):
        return
    lost_ns = sum(steps[at].data_ns - data_ns for at in later)
    share_ns = round(lost_ns / len(steps))
    held = Message("suppressed.one-epoch") if epochs and len(epochs) < limits["epochs_from_count"] else None
    if held is None and share_ns < limits["share_from_ratio"] * window_ns:
        return
    worst = max(places, key=lambda at: steps[at].data_ns)
    yield Claim(
        params={
            "rank": "?" if steps[0].rank is None else steps[0].rank,
            "spike_count": len(places),
            "spike_ns": steps[worst].data_ns,
            "usual_ns": round(data_ns),
            "share_ns": share_ns,
        },
        slices=Slices("step"),
        location=place(steps[0]),
        evidence=figures(
            steps[0],
            "step_phases",
            {"spike_ns": steps[worst].data_ns, "usual_ns": round(data_ns), "epochs_count": len(epochs) or None},
        ),
        direct=DirectGain(
            low_ns=round(share_ns * limits["low_ratio"]),
            expected_ns=share_ns,
            high_ns=share_ns,
            base_ns=round(window_ns) + share_ns,
        ),
        at_stake_ns=share_ns,
        suppressed_by=held,
    )


def _is_first(by_epoch: Sequence[int | None], at: int, reach: float) -> bool:
    """Whether a step is one of the first of its epoch, or the last before one: the mark may lie behind the request."""
    back = max(at - int(reach), 0)
    starts = [by_epoch[other] != by_epoch[at] for other in range(back, min(at + 2, len(by_epoch)))]
    return any(starts) or back == 0


def _is_periodic(places: Sequence[int]) -> bool:
    """Whether at least three spikes, the first start aside, follow each other at equal distances."""
    gaps = [after - before for before, after in pairwise(places)]
    return len(gaps) >= 2 and min(gaps) > 1 and max(gaps) - min(gaps) <= 1


_MOST_EPOCHS: Final = """
    select max(epochs)::bigint as epochs
    from (select count(distinct epoch) as epochs from step where epoch is not null group by profile_id)
"""
_EPOCHS: Final = """
    select step_id, epoch
    from step
    where profile_id = $profile_id and epoch is not null
"""

RULE = Rule("R-DATA-4", "epoch-spikes", "data", "config", check, needs=("step_phases", "input_pipeline"))
