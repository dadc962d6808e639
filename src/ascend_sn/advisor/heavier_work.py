"""Ranks that compute longer because they have more to do, not because they are slower."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.facts import Facts, asked_once

if TYPE_CHECKING:
    from ascend_sn.advisor.rule import Change
    from ascend_sn.replay import StepGraph, Transform, Unpriced, WorkExcess

__all__ = ["compared_work", "has_more_work", "work_shared"]

_EXPLAINED_RATIO: Final = 0.5
"""More work explains a longer time from this share of it on."""


class _Row(msgspec.Struct):
    """What is wanted of a row of `stragglers`."""

    profile_id: int
    stage: int | None
    is_straggler: bool
    cause: str | None


@asked_once
def compared_work(facts: Facts) -> dict[int, WorkExcess]:
    """Return what each replayed rank computes longer than its peers, and how much of it is more work, by profile."""
    from ascend_sn.replay import Unpriced, work_excesses

    replay = facts.replay
    return {} if isinstance(replay, Unpriced) else {one.profile_id: one for one in work_excesses(replay.graph)}


def has_more_work(facts: Facts, profile_id: int) -> bool | None:
    """Say whether a rank computes longer because it has more to do; None where nothing tells."""
    found = compared_work(facts).get(profile_id)
    if found is None or found.excess_ns <= 0:
        return None
    if found.more_work_ns >= _EXPLAINED_RATIO * found.excess_ns:
        return True
    return False if found.has_shapes else None


def work_shared(facts: Facts) -> Change:
    """Return the change that gives all ranks of a stage as much to do."""
    return partial(_balanced, standing_for=_standing_for(facts))


def _balanced(graph: StepGraph, *, standing_for: dict[int, float]) -> Transform | Unpriced:
    from ascend_sn.replay import work_balanced

    return work_balanced(graph, standing_for)


@asked_once
def _standing_for(facts: Facts) -> dict[int, float]:
    """Return for each replayed profile how many ranks of the job it stands for.

    Ranks that compute longer stand for such ranks of their stage, the others for the others.
    """
    from ascend_sn.replay import Unpriced

    replay = facts.replay
    if isinstance(replay, Unpriced):
        return {}
    kinds = {
        row.profile_id: (row.stage, row.is_straggler and row.cause == "compute")
        for row in facts.rows("stragglers", _Row)
    }
    of_job = Counter(kinds.values())
    known = [profile_id for profile_id in replay.graph.profile_ids if profile_id in kinds]
    replayed = Counter(kinds[profile_id] for profile_id in known)
    return {one: of_job[kinds[one]] / replayed[kinds[one]] for one in known}
