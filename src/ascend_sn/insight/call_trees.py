"""Trees of calls of the runs that are served, those that were asked for last kept."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final, NamedTuple

import msgspec
from starlette.requests import Request

from ascend_sn.analysis.call_paths import call_tree_of
from ascend_sn.analysis.call_tree import CallTree, callers_of, merged
from ascend_sn.insight.answers import integer
from ascend_sn.insight.runs import OpenRun

__all__ = ["Asked", "Found", "Trees", "asked_calls"]

_KEPT: Final = 8
_FAR: Final = 1 << 62


class Found(msgspec.Struct, frozen=True):
    """The tree of calls of some profiles: of how many of those that there are."""

    tree: CallTree
    looked_into: int
    profile_count: int


class Asked(NamedTuple):
    """Whose calls, of which steps (first and last number), and whether they are turned over; None is all."""

    profile: int | None
    steps: tuple[int, int] | None
    is_turned: bool


def asked_calls(request: Request, *, is_turned: bool) -> Asked:
    """Return what the parameters `profile`, `from_step` and `to_step` ask for.

    Raises:
        ApiError: One is no whole number.
    """
    given = set(request.query_params)
    profile = integer(request, "profile") if "profile" in given else None
    steps = None
    if {"from_step", "to_step"} & given:
        steps = (integer(request, "from_step", -_FAR, low=-_FAR), integer(request, "to_step", _FAR, low=-_FAR))
    return Asked(profile, steps, is_turned)


class Trees:
    """The trees that were asked for last."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[tuple[str, Asked], Found] = OrderedDict()

    def of(self, opened: OpenRun, asked: Asked) -> Found:
        """Return the tree of a run, worked out where it is not known.

        Raises:
            ApiError: There is no such profile.
        """
        key = (opened.id, asked)
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
        if asked.is_turned:
            straight = self.of(opened, asked._replace(is_turned=False))
            found = msgspec.structs.replace(straight, tree=callers_of(straight.tree))
        else:
            found = _found(opened, asked)
        with self._lock:
            self._known[key] = found
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return found


def _found(opened: OpenRun, asked: Asked) -> Found:
    if asked.profile is not None:
        opened.profile(asked.profile)
    part = opened.part(asked.profile)
    chosen = [asked.profile] if asked.profile is not None else sorted(part.run.detailed or opened.profiles)
    with part.lock:
        trees = [call_tree_of(part.run.db, profile_id, asked.steps) for profile_id in chosen]
    return Found(trees[0] if len(trees) == 1 else merged(trees), len(chosen), len(opened.profiles))
