"""The verdict: where the step goes, in one to four sentences, worst first.

It states what was measured and prices nothing; rules and gains are findings. Only who holds the other ranks up is told
by what the advice has priced. Of several ranks the headline is about the one whose median step loses most time to
something else than compute, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Final

import msgspec

from ascend_sn.advisor.awaited_member import awaited_member
from ascend_sn.advisor.culprits import culprits
from ascend_sn.advisor.device_data import SilentDevice
from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.finding import Advice
from ascend_sn.advisor.median_step import WHOLE_CAPTURE, MedianStep, Phases, is_marked, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rules.host_bound import free_cause
from ascend_sn.model.kinds import HOST_KINDS

__all__ = ["UNEVEN_RATIO", "verdict"]

UNEVEN_RATIO: Final = 1.1
"""A rank that computes longer than this times the median of all ranks is named."""

_UNEVEN_RANKS: Final = 3
"""Ranks from which on a median says which one is the odd one."""

_SILENT_RANKS: Final = 3
"""Ranks without device data that are named, each with a sentence."""


_VARYING_STEPS: Final = 10
"""Steps from which on it is said how much they vary."""

_VARYING_RATIO: Final = 0.5
"""Range of the middle 80 % of the steps, of the median one, from which on it is said."""

_IDLE_IS_SAID: Final = 0.001
"""Share of the communication from which it is worth a word that it neither waits nor moves bytes."""


class _Parts(msgspec.Struct):
    """What is wanted of a row of `communication_summary`."""

    profile_id: int
    total_ns: int
    transit_ns: int | None
    wait_ns: int | None
    idle_ns: int | None
    unknown_ns: int
    members_present: int | None
    members_expected: int | None
    members_exact: bool


class _Length(msgspec.Struct):
    """How long a step takes, and from its first kernel to its last; null where it launched none."""

    profile_id: int
    window_ns: int
    stage_ns: int | None


class _Cause(msgspec.Struct):
    """What most of the free time of a step waits for."""

    cause: str
    cause_ns: int


class _Data(msgspec.Struct):
    """What is wanted of a row of `input_pipeline`."""

    rank: int | None
    data_ns: int
    window_ns: int
    data_share_ratio: float
    bottleneck: str


def verdict(
    facts: Facts,
    steps: list[MedianStep],
    phases: list[Phases],
    silent: list[SilentDevice],
    advice: Advice | None = None,
) -> list[Message]:
    """Return what to say about a run, the most important first; never empty.

    Args:
        facts: The analysis results.
        steps: What `median_steps` returned for them.
        phases: What `median_phases` returned for these.
        silent: What `silent_devices` returned.
        advice: What the advisor said; None where it was not asked.
    """
    said = list(_missing_device_data(silent))
    if steps:
        found = culprits(facts, steps, advice)
        data = _waits_for_data(facts)
        lost_to_data = 0 if data is None else data.params["data_ns"]
        first = [one for one in found[:1] if one.cost_ns > lost_to_data]
        said += [one.message for one in first]
        said += _headline(facts, steps, phases, data)
        said += [one.message for one in found[len(first) :]] if found else _uneven_ranks(steps)
        said += _varying_steps(facts, steps)
        said += _kind_of_capture(steps)
        if any(step.scope == WHOLE_CAPTURE for step in steps):
            said.append(Message("verdict.no-step-marks"))
    return said or [Message("verdict.nothing-to-divide")]


def _missing_device_data(silent: list[SilentDevice]) -> Iterator[Message]:
    for profile in silent[:_SILENT_RANKS]:
        rank = "?" if profile.rank is None else profile.rank
        if profile.launch_count:
            yield Message("verdict.no-device-data", {"count": profile.launch_count, "rank": rank})
        else:
            yield Message("verdict.no-device-records", {"rank": rank})


def _headline(facts: Facts, steps: list[MedianStep], phases: list[Phases], data: Message | None) -> Iterator[Message]:
    step = max(steps, key=lambda step: step.window_ns - step.compute_ns)
    window = step.window_ns or 1
    losses = {"exposed-comm": step.exposed_comm_ns, "exposed-copy": step.exposed_copy_ns, "free": step.free_ns}
    loss = max(losses, key=lambda name: losses[name])
    common = {"where": where(step, len(steps)), "window": _window(step), "window_ns": window}
    if data is not None:
        yield data
    elif step.compute_ns >= losses[loss]:
        yield Message(
            "verdict.compute-limits",
            {
                **common,
                "compute_ns": step.compute_ns,
                "compute_ratio": step.compute_ns / window,
                "loss": Message(f"loss.{loss}"),
                "loss_ratio": losses[loss] / window,
            },
        )
    elif loss == "exposed-comm":
        yield _communication_limits(step, common)
    elif loss == "free":
        yield Message("verdict.device-free", {**common, "free_ns": step.free_ns, "free_ratio": step.free_ns / window})
    else:
        copy_ns = step.exposed_copy_ns
        yield Message("verdict.copies-limit", {**common, "copy_ns": copy_ns, "copy_ratio": copy_ns / window})
    if loss == "free" and data is None:
        yield from _free_time(facts, step, phases)
    if loss == "exposed-comm" and losses[loss] > 0:
        yield from _communication_parts(facts, step.profile_id)


def _free_time(facts: Facts, step: MedianStep, phases: list[Phases]) -> Iterator[Message]:
    """What most of the free time falls together with, if anything; else what the device waits for meanwhile (A04)."""
    data_ns = next((row.data_ns for row in phases if row.profile_id == step.profile_id), 0)
    if data_ns > step.free_ns / 2:
        yield Message("verdict.loads-data", {"data_ns": data_ns})
    elif step.preparing_ns is not None and step.preparing_ns > step.free_ns / 2:
        yield Message("verdict.before-first-kernel", {"preparing_ns": step.preparing_ns})
    else:
        causes = facts.rows(
            "free_time_causes",
            _Cause,
            lambda row: (
                row["profile_id"] == step.profile_id and row["step_id"] == step.step_id and row["cause"] != "unknown"
            ),
        )
        most = min(causes, key=lambda row: (-row.cause_ns, row.cause), default=None)
        if most is not None and most.cause_ns > step.free_ns / 2:
            yield Message("verdict.free-cause", {"cause": free_cause(most.cause), "cause_ns": most.cause_ns})


def _communication_limits(step: MedianStep, common: dict[str, object]) -> Message:
    if step.scope == WHOLE_CAPTURE or not step.stage_ns or step.stage_exposed_comm_ns is None:
        ratio = step.exposed_comm_ns / (step.window_ns or 1)
        return Message(
            "verdict.communication-limits", {**common, "exposed_ns": step.exposed_comm_ns, "exposed_ratio": ratio}
        )
    # The profiler's stage leaves the receives of a pipeline out, which are communication without compute as well.
    from_first_to_last_ns = step.stage_ns + (step.bubble_ns or 0)
    return Message(
        "verdict.communication-limits-stage",
        {
            "where": common["where"],
            "exposed_ns": step.stage_exposed_comm_ns,
            "stage_ns": from_first_to_last_ns,
            "exposed_ratio": step.stage_exposed_comm_ns / from_first_to_last_ns,
        },
    )


def _communication_parts(facts: Facts, profile_id: int) -> Iterator[Message]:
    rows = [row for row in facts.rows("communication_summary", _Parts) if row.profile_id == profile_id]
    total = sum(row.total_ns for row in rows)
    if not total:
        return
    grouped = [row for row in rows if row.members_present is not None and row.members_expected]
    fewest = min(grouped, key=lambda row: (row.members_present or 0) / (row.members_expected or 1), default=None)
    absent = fewest is not None and (fewest.members_present or 0) < (fewest.members_expected or 0)
    members: dict[str, object] = {}
    if absent and fewest is not None:
        how = "members.of-exactly" if fewest.members_exact else "members.of-at-least"
        members = {"members": Message(how, {"present": fewest.members_present, "expected": fewest.members_expected})}
    known = total - sum(row.unknown_ns for row in rows)
    if not known or all(row.transit_ns is None for row in rows):
        yield Message("verdict.parts-unknown-members" if absent else "verdict.parts-unknown", members)
        return
    idle = sum(row.idle_ns or 0 for row in rows) / known
    plain = "verdict.parts" if idle >= _IDLE_IS_SAID else "verdict.parts-two"
    yield Message(
        "verdict.parts-members" if absent else plain,
        {
            "transit_ratio": sum(row.transit_ns or 0 for row in rows) / known,
            "wait_ratio": sum(row.wait_ns or 0 for row in rows) / known,
            "idle_ratio": idle,
            **members,
        },
    )
    awaited = awaited_member(facts) if absent else None
    if awaited is not None:
        yield Message(
            "verdict.awaited",
            {"member": awaited.member, "wait_ns": awaited.wait_ns, "total_ns": awaited.total_ns},
        )


def _waits_for_data(facts: Facts) -> Message | None:
    bound = [row for row in facts.rows("input_pipeline", _Data) if row.bottleneck == "data"]
    if not bound:
        return None
    data = max(bound, key=lambda row: row.data_share_ratio)
    return Message(
        "verdict.data-limits",
        {
            "rank": "?" if data.rank is None else data.rank,
            "data_ns": data.data_ns,
            "window_ns": data.window_ns,
            "data_ratio": data.data_share_ratio,
        },
    )


def _uneven_ranks(steps: list[MedianStep]) -> Iterator[Message]:
    ranked = [step for step in steps if step.rank is not None]
    one_job = len({step.rank for step in ranked}) == len(ranked)
    if len(ranked) < _UNEVEN_RANKS or not one_job:
        return
    slowest, middle = max(ranked, key=lambda step: step.compute_ns), median(step.compute_ns for step in ranked)
    if slowest.compute_ns > UNEVEN_RATIO * middle:
        yield Message(
            "verdict.uneven-ranks",
            {
                "rank": slowest.rank,
                "slowest_ns": slowest.compute_ns,
                "median_ns": round(middle),
                "lost_ns": slowest.compute_ns - round(middle),
            },
        )


def _varying_steps(facts: Facts, steps: list[MedianStep]) -> Iterator[Message]:
    """Say how much the steps of the rank vary that vary most, where that is much."""
    found = []
    for step in steps:
        if step.scope == WHOLE_CAPTURE or step.step_count < _VARYING_STEPS:
            continue
        lengths = sorted(
            row.window_ns
            for row in facts.rows("step_breakdown", _Length, is_marked)
            if row.profile_id == step.profile_id and row.stage_ns is not None
        )
        last = len(lengths) - 1
        low, high = (lengths[round(last * share)] for share in (0.1, 0.9))
        found.append(((high - low) / max(step.window_ns, 1), low, high, len(lengths)))
    spread, low, high, count = max(found, default=(0.0, 0, 0, 0))
    if spread >= _VARYING_RATIO:
        yield Message(
            "verdict.steps-vary", {"step_count": count, "low_ns": low, "high_ns": high, "spread_ratio": spread}
        )


def _kind_of_capture(steps: list[MedianStep]) -> Iterator[Message]:
    for kind in HOST_KINDS:
        if any(step.device_kind == kind for step in steps):
            yield Message(f"verdict.{kind}-capture")


def _window(step: MedianStep) -> Message:
    return Message("window.capture" if step.scope == WHOLE_CAPTURE else "window.step")
