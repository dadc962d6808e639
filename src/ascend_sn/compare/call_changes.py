"""Calls of the host in two runs, path by path."""

from __future__ import annotations

from dataclasses import dataclass, field

from ascend_sn.analysis.host.call_tree import NO_CALL, CallTree, Paths

__all__ = ["CallChanges", "call_changes"]


@dataclass(slots=True)
class CallChanges(Paths):
    """Paths of two trees, each behind the one that it is called from, those that take longest in both first.

    Attributes:
        base: Place in the tree of the baseline; NO_CALL where it has none.
        candidate: Place in the tree of the candidate; NO_CALL where it has none.
        base_ns: Time in the baseline, 0 where it has none.
        candidate_ns: Time in the candidate, 0 where it has none.
    """

    base: list[int] = field(default_factory=list)
    candidate: list[int] = field(default_factory=list)
    base_ns: list[float] = field(default_factory=list)
    candidate_ns: list[float] = field(default_factory=list)


def call_changes(
    base: CallTree, candidate: CallTree, *, device: bool = False, per_base: int = 1, per_candidate: int = 1
) -> CallChanges:
    """Match the paths of two trees by their names.

    Args:
        base: The tree of the baseline.
        candidate: The tree of the candidate.
        device: Compare what was launched on the device, in the place of the time on the host.
        per_base: What times of the baseline are divided by: its steps.
        per_candidate: The same of the candidate.
    """
    places: dict[tuple[int, str], int] = {}
    found: list[list[int]] = []  # of each path its parent, and its places in both trees
    names: list[str] = []
    for side, tree in enumerate((base, candidate)):
        own: list[int] = []
        for at, (name, parent) in enumerate(zip(tree.name, tree.parent, strict=True)):
            above = NO_CALL if parent == NO_CALL else own[parent]
            place = places.setdefault((above, name), len(found))
            if place == len(found):
                found.append([above, NO_CALL, NO_CALL])
                names.append(name)
            found[place][1 + side] = at
            own.append(place)

    def ns(tree: CallTree, at: int, per: int) -> float:
        return 0.0 if at == NO_CALL else (tree.device_ns if device else tree.total_ns)[at] / per

    times = [(ns(base, one, per_base), ns(candidate, other, per_candidate)) for _, one, other in found]
    below: dict[int, list[int]] = {}
    for place, (above, _, _) in enumerate(found):
        below.setdefault(above, []).append(place)
    for inner in below.values():
        inner.sort(key=lambda place: (sum(times[place]), names[place]))
    changes = CallChanges()
    waiting = [(place, NO_CALL) for place in below.get(NO_CALL, ())]
    while waiting:
        place, above = waiting.pop()
        changes.name.append(names[place])
        changes.parent.append(above)
        changes.depth.append(0 if above == NO_CALL else changes.depth[above] + 1)
        changes.base.append(found[place][1])
        changes.candidate.append(found[place][2])
        changes.base_ns.append(times[place][0])
        changes.candidate_ns.append(times[place][1])
        waiting += [(inner, len(changes) - 1) for inner in below.get(place, ())]
    return changes
