"""Trees of calls of the runs that are served, those that were asked for last kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Final, NamedTuple, Protocol

import msgspec
from starlette.requests import Request

from ascend_sn.analysis.host.call_paths import call_tree_of
from ascend_sn.analysis.host.call_tree import NO_CALL, CallTree, callers_of, merged
from ascend_sn.insight.answers import integer
from ascend_sn.insight.runs import OpenRun

__all__ = [
    "PATHS_AT_MOST", "Above", "Asked", "Found", "Kept", "Trees", "asked_calls", "inside_of", "kept_places",
]  # fmt: skip

_KEPT: Final = 8
_FAR: Final = 1 << 62


LEAST_SHARE: Final = 0.001
"""Share of what is shown from which a path is told by itself."""

PATHS_AT_MOST: Final = 2_000


class Paths(Protocol):
    """Paths, each directly before those inside of it."""

    name: list[str]
    parent: list[int]
    depth: list[int]


class Above(msgspec.Struct, frozen=True):
    """A path around the one that is shown."""

    id: int
    name: str


class Kept(NamedTuple):
    """What of paths is shown.

    Attributes:
        whole: What the values add up to.
        inside: Places of all paths from the root on.
        parent: Of each place that is shown, in their order, which of those shown is around it; -1 where none is.
        above: The root and what is around it, outermost first; empty where all is shown.
    """

    whole: float
    inside: range
    parent: dict[int, int]
    above: list[Above]


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


def kept_places(paths: Paths, values: Sequence[float], root: int | None) -> Kept:
    """Choose what is shown, from a path on: nothing below 0.1 % of that, and the 2,000 largest."""
    inside = range(len(values)) if root is None else inside_of(paths, root)
    whole = sum(values[at] for at in inside if paths.parent[at] == NO_CALL) if root is None else values[root]
    large = [at for at in inside if values[at] and values[at] >= LEAST_SHARE * whole]
    least = sorted((values[at] for at in large), reverse=True)[:PATHS_AT_MOST][-1:] or [0]
    parent: dict[int, int] = {}
    number: dict[int, int] = {}
    for at in large:
        above = paths.parent[at]
        if values[at] < least[0] or len(parent) >= PATHS_AT_MOST or not (at == root or above in parent or above < 0):
            continue
        parent[at] = number.get(above, -1)
        number[at] = len(number)
    return Kept(whole, inside, parent, [] if root is None else _above(paths, root))


def inside_of(paths: Paths, root: int) -> range:
    """Return a path and all inside of it: they follow each other."""
    past = root + 1
    while past < len(paths.depth) and paths.depth[past] > paths.depth[root]:
        past += 1
    return range(root, past)


def _above(paths: Paths, root: int) -> list[Above]:
    found = []
    at = root
    while at != NO_CALL:
        found.append(Above(at, paths.name[at]))
        at = paths.parent[at]
    return found[::-1]
