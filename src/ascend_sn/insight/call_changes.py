"""What the host spent its time in, in two runs, by call path, over HTTP; also as CSV."""

from __future__ import annotations

import csv
import io

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ascend_sn.analysis import absence
from ascend_sn.analysis.host.call_paths import ANALYSIS, BETWEEN
from ascend_sn.analysis.host.call_tree import NO_CALL, CallTree
from ascend_sn.compare.call_changes import CallChanges, call_changes
from ascend_sn.insight.answers import ApiError, answer, integer, parameter
from ascend_sn.insight.call_paths import Longest, longest_of, steps_of
from ascend_sn.insight.call_trees import Above, Asked, Found, Trees, asked_calls, inside_of, kept_places
from ascend_sn.insight.runs import OpenRun, Served
from ascend_sn.model.printable import harmless

__all__ = ["CallPathChanges", "ChangedNode", "call_change_routes"]

_ALL_STEPS = (-(1 << 62), 1 << 62)


class ChangedNode(msgspec.Struct, frozen=True):
    """A call path in two runs, ns per step; `more_ns` is candidate less baseline.

    `parent` is the place of the path around it in this answer, or -1; calls and longest are null in a run without it.
    """

    id: int
    parent: int
    depth: int
    name: str
    base_calls: int | None
    candidate_calls: int | None
    base_ns: float
    candidate_ns: float
    more_ns: float
    base_longest: Longest | None
    candidate_longest: Longest | None


class CallPathChanges(msgspec.Struct, kw_only=True):
    """The paths of two runs from `above` on. `base_steps` and `candidate_steps` are what times are divided by.

    They are 1 where a run has no steps: then both are looked at as a whole. `first_step` and `last_step` are the ends
    of what can be asked for.
    """

    state: str = "collected"
    reason: str = ""
    turn_on: str = ""
    base_steps: int = 1
    candidate_steps: int = 1
    is_per_step: bool = False
    first_step: int | None = None
    last_step: int | None = None
    has_device: bool = False
    base_ns: float = 0.0
    candidate_ns: float = 0.0
    path_count: int = 0
    left_out_paths: int = 0
    above: list[Above] = []
    paths: list[ChangedNode] = []


def call_change_routes(served: Served) -> list[Route]:
    """Return the route of call paths in two runs."""
    trees = Trees()

    def call_path_changes(request: Request) -> Response:
        """Calls of the host by path in two runs, all profiles added up, per step where both have steps.

        Parameters: `base`, `candidate` (ids of runs), `rank` (of both runs; all where not given), `from_step` and
        `to_step` (numbers; all steps where not given), `measure` (`total` or `device`), `root` (`id` of the path to
        begin at), `format=csv`. JSON leaves out paths below 0.1 % of what is shown, and all but the 2,000 largest; CSV
        holds all.
        """
        runs = [served.opened(parameter(request, name)) for name in ("base", "candidate")]
        measure, form = parameter(request, "measure", "total"), parameter(request, "format", "json")
        if runs[0] is runs[1]:
            raise ApiError(400, "bad_parameter", "a comparison needs two different runs")
        if measure not in ("total", "device") or form not in ("json", "csv"):
            raise ApiError(400, "bad_parameter", "measure is total or device, format is json or csv")
        for opened in runs:
            with opened.across.lock:
                missing = absence(opened.across.run, ANALYSIS.name)
            if missing is not None:
                return answer(CallPathChanges(state=missing.state, reason=missing.reason, turn_on=missing.turn_on))
        steps = asked_calls(request, is_turned=False).steps
        rank = integer(request, "rank") if "rank" in request.query_params else None
        profiles = [None if rank is None else _profile_of(opened, rank) for opened in runs]
        counts = [_step_count(opened, profile, steps) for opened, profile in zip(runs, profiles, strict=True)]
        for opened, count in zip(runs, counts, strict=True):
            if steps is not None and not count:
                raise ApiError(404, "no_steps", f"run {opened.id} has none of these steps")
        per_step = all(counts)
        within = steps if steps is not None or not per_step else _ALL_STEPS
        found = [
            trees.of(opened, Asked(profile, within, False)) for opened, profile in zip(runs, profiles, strict=True)
        ]
        divided = [count if per_step else 1 for count in counts]
        base, candidate = (one.tree for one in found)
        changes = call_changes(
            base, candidate, device=measure == "device", per_base=divided[0], per_candidate=divided[1]
        )
        root = integer(request, "root", high=max(len(changes) - 1, 0)) if "root" in request.query_params else None
        if form == "csv":
            headers = {"Content-Disposition": 'attachment; filename="call_path_changes.csv"'}
            text = _csv(changes, base, candidate, root)
            return Response(text, media_type="text/csv; charset=utf-8", headers=headers)
        told = _told(changes, found, root)
        told.base_steps, told.candidate_steps, told.is_per_step = divided[0], divided[1], per_step
        told.first_step, told.last_step = _steps_of_both(runs)
        return answer(told)

    return [Route("/call-path-changes", call_path_changes, methods=["GET"])]


def _profile_of(opened: OpenRun, rank: int) -> int:
    rows = opened.query("select min(profile_id) from profile where rank = $rank", {"rank": rank})
    found: int | None = rows[0][0]
    if found is None:
        raise ApiError(404, "no_rank", f"run {opened.id} has no rank {rank}")
    return found


def _step_count(opened: OpenRun, profile: int | None, steps: tuple[int, int] | None) -> int:
    """Steps of the profiles whose calls are added up."""
    detailed = sorted(opened.across.run.detailed or opened.profiles) if profile is None else [profile]
    first, last = steps or _ALL_STEPS
    ((count,),) = opened.query(
        """
        select count(*) from step
        where profile_id in (select unnest($profiles)) and coalesce(step, step_id) between $first and $last
        """,
        {"profiles": detailed, "first": first, "last": last},
    )
    return int(count)


def _steps_of_both(runs: list[OpenRun]) -> tuple[int | None, int | None]:
    """The least and the greatest number of a step in either run."""
    ends = [steps_of(opened) for opened in runs]
    return (
        min((first for first, _ in ends if first is not None), default=None),
        max((last for _, last in ends if last is not None), default=None),
    )


def _told(changes: CallChanges, found: list[Found], root: int | None) -> CallPathChanges:
    base, candidate = (one.tree for one in found)
    both = [one + other for one, other in zip(changes.base_ns, changes.candidate_ns, strict=True)]
    kept = kept_places(changes, both, root)
    outer = [at for at in kept.inside if changes.parent[at] == NO_CALL] if root is None else [root]
    return CallPathChanges(
        has_device=any(base.device_ns) or any(candidate.device_ns),
        base_ns=sum(changes.base_ns[at] for at in outer),
        candidate_ns=sum(changes.candidate_ns[at] for at in outer),
        path_count=len(kept.inside),
        left_out_paths=len(kept.inside) - len(kept.parent),
        above=kept.above,
        paths=[_node(changes, at, parent, base, candidate) for at, parent in kept.parent.items()],
    )


def _node(changes: CallChanges, at: int, parent: int, base: CallTree, candidate: CallTree) -> ChangedNode:
    one, other = changes.base[at], changes.candidate[at]
    return ChangedNode(
        id=at,
        parent=parent,
        depth=changes.depth[at],
        name=changes.name[at],
        base_calls=None if one == NO_CALL else base.calls[one],
        candidate_calls=None if other == NO_CALL else candidate.calls[other],
        base_ns=changes.base_ns[at],
        candidate_ns=changes.candidate_ns[at],
        more_ns=changes.candidate_ns[at] - changes.base_ns[at],
        base_longest=None if one == NO_CALL else longest_of(base.longest[one]),
        candidate_longest=None if other == NO_CALL else longest_of(candidate.longest[other]),
    )


def _csv(changes: CallChanges, base: CallTree, candidate: CallTree, root: int | None) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("path", "depth", "base_calls", "candidate_calls", "base_ns", "candidate_ns", "more_ns"))
    for at in range(len(changes)) if root is None else inside_of(changes, root):
        one, other = changes.base[at], changes.candidate[at]
        calls = ("" if one == NO_CALL else base.calls[one], "" if other == NO_CALL else candidate.calls[other])
        times = (changes.base_ns[at], changes.candidate_ns[at], changes.candidate_ns[at] - changes.base_ns[at])
        path = harmless(BETWEEN.join(changes.names_above(at)))
        writer.writerow((path, changes.depth[at], *calls, *(f"{ns:.1f}" for ns in times)))
    return "\ufeff" + text.getvalue()
