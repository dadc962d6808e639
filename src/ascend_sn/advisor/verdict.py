"""The verdict: where the step goes, in one to four sentences, worst first.

It states what was measured and prices nothing; rules and gains are findings. Figures are those of the median step
of each profile, as means over the profiles where there are several.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import fmean, median
from typing import Final

import msgspec

from ascend_sn.advisor.device_data import silent_devices
from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.median_step import WHOLE_CAPTURE, MedianStep
from ascend_sn.advisor.message import Message

__all__ = ["UNEVEN_RATIO", "verdict"]

UNEVEN_RATIO: Final = 1.1
"""A rank that computes longer than this times the median of all ranks is named."""

_UNEVEN_RANKS: Final = 3
"""Ranks from which on a median says which one is the odd one."""

_SILENT_RANKS: Final = 3
"""Ranks without device data that are named, each with a sentence."""


class _Parts(msgspec.Struct):
    total_ns: int | None
    transit_ns: int | None
    wait_ns: int | None
    idle_ns: int | None
    unknown_ns: int | None
    members_present: int | None
    members_expected: int | None
    members_exact: bool | None


class _Data(msgspec.Struct):
    profile_count: int
    data_ns: float
    window_ns: float
    data_ratio: float


def verdict(facts: Facts, steps: list[MedianStep]) -> list[Message]:
    """Return what to say about a run, the most important first; never empty.

    Args:
        facts: The analysis results.
        steps: What `median_steps` returned for them.
    """
    said = list(_missing_device_data(facts))
    if steps:
        said += _headline(facts, steps)
        said += _uneven_ranks(steps)
        said += _kind_of_capture(steps)
        if any(step.scope == WHOLE_CAPTURE for step in steps):
            said.append(Message("verdict.no-step-marks"))
    return said or [Message("verdict.nothing-to-divide")]


def _missing_device_data(facts: Facts) -> Iterator[Message]:
    silent = silent_devices(facts)
    for profile in silent[:_SILENT_RANKS]:
        rank = "?" if profile.rank is None else profile.rank
        if profile.launch_count:
            yield Message("verdict.no-device-data", {"count": profile.launch_count, "rank": rank})
        else:
            yield Message("verdict.no-device-records", {"rank": rank})


def _headline(facts: Facts, steps: list[MedianStep]) -> Iterator[Message]:
    data = _waits_for_data(facts)
    means = {
        name: _mean(getattr(step, name) for step in steps)
        for name in ("window_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns", "free_ns")
    }
    window = means.pop("window_ns") or 1
    losses = {name: value for name, value in means.items() if name != "compute_ns"}
    largest = max(means, key=lambda name: means[name])
    loss = max(losses, key=lambda name: losses[name])
    common = {"where": _where(steps), "window": _window(steps), "window_ns": window}
    if data is not None:
        yield data
    elif largest == "exposed_comm_ns":
        yield _communication_limits(steps, common)
    elif largest == "compute_ns":
        yield Message(
            "verdict.compute-limits",
            {
                **common,
                "compute_ns": means["compute_ns"],
                "compute_ratio": means["compute_ns"] / window,
                "loss": Message(f"loss.{loss.removesuffix('_ns').replace('_', '-')}"),
                "loss_ratio": losses[loss] / window,
            },
        )
    elif largest == "free_ns":
        yield Message(
            "verdict.device-free", {**common, "free_ns": means["free_ns"], "free_ratio": means["free_ns"] / window}
        )
        preparing = [step.preparing_ns for step in steps if step.preparing_ns is not None]
        if preparing and _mean(preparing) > means["free_ns"] / 2:
            yield Message("verdict.before-first-kernel", {"preparing_ns": _mean(preparing)})
    else:
        copy_ns = means["exposed_copy_ns"]
        yield Message("verdict.copies-limit", {**common, "copy_ns": copy_ns, "copy_ratio": copy_ns / window})
    if loss == "exposed_comm_ns" and losses[loss] > 0:
        yield from _communication_parts(facts)


def _communication_limits(steps: list[MedianStep], common: dict[str, object]) -> Message:
    staged = [(step.stage_exposed_comm_ns, step.stage_ns) for step in steps if step.stage_ns]
    if not staged or steps[0].scope == WHOLE_CAPTURE:
        exposed, window = _mean(step.exposed_comm_ns for step in steps), _mean(step.window_ns for step in steps)
        return Message(
            "verdict.communication-limits", {**common, "exposed_ns": exposed, "exposed_ratio": exposed / window}
        )
    exposed, stage = _mean(part or 0 for part, _ in staged), _mean(whole or 0 for _, whole in staged)
    return Message(
        "verdict.communication-limits-stage",
        {"where": common["where"], "exposed_ns": exposed, "stage_ns": stage, "exposed_ratio": exposed / stage},
    )


def _communication_parts(facts: Facts) -> Iterator[Message]:
    found = facts.rows(
        "communication_summary",
        """
        select sum(total_ns)::bigint as total_ns, sum(transit_ns)::bigint as transit_ns,
               sum(wait_ns)::bigint as wait_ns, sum(idle_ns)::bigint as idle_ns, sum(unknown_ns)::bigint as unknown_ns,
               arg_min(members_present, members_present / members_expected) as members_present,
               arg_min(members_expected, members_present / members_expected) as members_expected,
               bool_and(members_exact) as members_exact
        from {rows}
        """,
        _Parts,
    )
    parts = found[0] if found else None
    if parts is None or not parts.total_ns:
        return
    present, expected = parts.members_present, parts.members_expected
    absent = present is not None and expected is not None and present < expected
    members: dict[str, object] = {}
    if absent:
        how = "members.of-exactly" if parts.members_exact else "members.of-at-least"
        members = {"members": Message(how, {"present": present, "expected": expected})}
    if parts.transit_ns is None or (parts.unknown_ns or 0) == parts.total_ns:
        yield Message("verdict.parts-unknown-members" if absent else "verdict.parts-unknown", members)
        return
    known = parts.total_ns - (parts.unknown_ns or 0)
    yield Message(
        "verdict.parts-members" if absent else "verdict.parts",
        {
            "transit_ratio": parts.transit_ns / known,
            "wait_ratio": (parts.wait_ns or 0) / known,
            "idle_ratio": (parts.idle_ns or 0) / known,
            **members,
        },
    )


def _waits_for_data(facts: Facts) -> Message | None:
    found = facts.rows(
        "input_pipeline",
        """
        select count(*) as profile_count, avg(data_ns) as data_ns, avg(window_ns) as window_ns,
               sum(data_ns) / sum(window_ns) as data_ratio
        from {rows}
        where bottleneck = 'data'
        having count(*) > 0
        """,
        _Data,
    )
    if not found:
        return None
    (data,) = found
    return Message(
        "verdict.data-limits",
        {"data_ns": round(data.data_ns), "window_ns": round(data.window_ns), "data_ratio": data.data_ratio},
    )


def _uneven_ranks(steps: list[MedianStep]) -> Iterator[Message]:
    ranked = [step for step in steps if step.rank is not None]
    if len(ranked) < _UNEVEN_RANKS:
        return
    slowest, middle = max(ranked, key=lambda step: step.compute_ns), median(step.compute_ns for step in ranked)
    if slowest.compute_ns > UNEVEN_RATIO * middle:
        yield Message(
            "verdict.uneven-ranks", {"rank": slowest.rank, "slowest_ns": slowest.compute_ns, "median_ns": round(middle)}
        )


def _kind_of_capture(steps: list[MedianStep]) -> Iterator[Message]:
    for kind in ("cpu", "host"):
        if any(step.device_kind == kind for step in steps):
            yield Message(f"verdict.{kind}-capture")


def _window(steps: list[MedianStep]) -> Message:
    return Message("window.capture" if steps[0].scope == WHOLE_CAPTURE else "window.step")


def _where(steps: list[MedianStep]) -> Message:
    first = steps[0]
    if len(steps) > 1:
        return Message("where.ranks", {"count": len(steps)})
    rank = "?" if first.rank is None else first.rank
    if first.scope == WHOLE_CAPTURE:
        return Message("where.rank", {"rank": rank})
    if first.step_count == 1 and first.step is not None:
        return Message("where.step", {"rank": rank, "step": first.step})
    return Message("where.steps", {"rank": rank, "count": first.step_count})


def _mean(values: Iterable[int]) -> int:
    return round(fmean(values))
