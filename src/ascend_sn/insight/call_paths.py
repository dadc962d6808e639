"""What called what over HTTP: call paths of a rank or of all, of all steps or some, as a tree and as CSV."""

from __future__ import annotations

import csv
import io
from typing import Literal, get_args

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ascend_sn.analysis import absence
from ascend_sn.analysis.host.call_paths import ANALYSIS, BETWEEN
from ascend_sn.analysis.host.call_tree import Call, CallTree
from ascend_sn.insight.answers import ApiError, answer, integer, parameter
from ascend_sn.insight.call_trees import Above, Found, Trees, asked_calls, inside_of, kept_places
from ascend_sn.insight.runs import OpenRun, Served
from ascend_sn.model.printable import harmless

__all__ = ["CallPaths", "Longest", "PathNode", "call_path_routes", "kept_paths", "longest_of", "steps_of"]

Measure = Literal["total", "self", "device"]


class Longest(msgspec.Struct, frozen=True):
    """The longest call of a path: the row that it is, `key` as text."""

    profile_id: int
    table: str
    key: str
    dur_ns: int


class PathNode(msgspec.Struct, frozen=True):
    """A call path: `id` is its place in the whole tree, `parent` the place of the path around it in this answer, or -1.

    `device_ns` and `device_self_ns` are null where no kernel is tied to an operator.
    """

    id: int
    parent: int
    depth: int
    name: str
    calls: int
    total_ns: int
    self_ns: int
    device_ns: int | None
    device_self_ns: int | None
    longest: Longest


class CallPaths(msgspec.Struct, kw_only=True):
    """The paths from `above` on (all where it is empty), each directly before those inside of it.

    `whole_ns` is what the measure adds up to here, `left_out_*` what is too small to be told; `looked_into` of
    `profile_count` profiles are added up. `state` says why there is none.
    """

    state: str = "collected"
    reason: str = ""
    turn_on: str = ""
    first_step: int | None = None
    last_step: int | None = None
    looked_into: int = 0
    profile_count: int = 0
    has_device: bool = False
    whole_ns: int = 0
    path_count: int = 0
    left_out_paths: int = 0
    left_out_calls: int = 0
    above: list[Above] = []
    paths: list[PathNode] = []


def call_path_routes(served: Served) -> list[Route]:
    """Return the route of call paths."""
    trees = Trees()

    def call_paths(request: Request) -> Response:
        """Calls of the host joined by path, with what they launched on the device.

        Parameters: `profile` (all where not given), `from_step` and `to_step` (numbers; all steps where not given),
        `measure` (`total`, `device`, or `self`: then what is called stands outermost, with its callers inside), `root`
        (`id` of the path to begin at), `format=csv`. JSON leaves out paths below 0.1 % of what is shown, and all but
        the 2,000 largest; CSV holds all.
        """
        measure, form = parameter(request, "measure", "total"), parameter(request, "format", "json")
        if measure not in get_args(Measure) or form not in ("json", "csv"):
            raise ApiError(400, "bad_parameter", "measure is total, self or device, format is json or csv")
        opened = served.opened(request.path_params["run"])
        across = opened.across
        with across.lock:
            missing = absence(across.run, ANALYSIS.name)
        if missing is not None:
            return answer(CallPaths(state=missing.state, reason=missing.reason, turn_on=missing.turn_on))
        found = trees.of(opened, asked_calls(request, is_turned=measure == "self"))
        root = integer(request, "root", high=max(len(found.tree) - 1, 0)) if "root" in request.query_params else None
        if form == "csv":
            headers = {"Content-Disposition": 'attachment; filename="call_paths.csv"'}
            return Response(_csv(found.tree, root), media_type="text/csv; charset=utf-8", headers=headers)
        told = kept_paths(found, "device" if measure == "device" else "total", root)
        first, last = steps_of(opened)
        return answer(msgspec.structs.replace(told, first_step=first, last_step=last))

    return [Route("/runs/{run}/call-paths", call_paths, methods=["GET"])]


def kept_paths(found: Found, measure: Measure, root: int | None) -> CallPaths:
    """Return what of a tree is shown, from a path on."""
    tree = found.tree
    kept = kept_places(tree, tree.device_ns if measure == "device" else tree.total_ns, root)
    has_device = any(tree.device_ns)
    return CallPaths(
        looked_into=found.looked_into,
        profile_count=found.profile_count,
        has_device=has_device,
        whole_ns=round(kept.whole),
        path_count=len(kept.inside),
        left_out_paths=len(kept.inside) - len(kept.parent),
        left_out_calls=sum(tree.calls[at] for at in kept.inside if at not in kept.parent),
        above=kept.above,
        paths=[_node(tree, at, parent, has_device) for at, parent in kept.parent.items()],
    )


def _node(tree: CallTree, at: int, parent: int, has_device: bool) -> PathNode:
    calls, total_ns, self_ns, device_self_ns, device_ns = tree.figures(at)
    return PathNode(
        id=at,
        parent=parent,
        depth=tree.depth[at],
        name=tree.name[at],
        calls=calls,
        total_ns=total_ns,
        self_ns=self_ns,
        device_ns=device_ns if has_device else None,
        device_self_ns=device_self_ns if has_device else None,
        longest=longest_of(tree.longest[at]),
    )


def longest_of(call: Call) -> Longest:
    """Return how an answer names the longest call of a path."""
    return Longest(call.profile_id, call.table, str(call.key), call.dur_ns)


def steps_of(opened: OpenRun) -> tuple[int | None, int | None]:
    """Return the first and the last number of a step."""
    ((first, last),) = opened.query("select min(coalesce(step, step_id)), max(coalesce(step, step_id)) from step")
    return first, last


def _csv(tree: CallTree, root: int | None) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((
        "path", "depth", "calls", "total_ns", "self_ns", "device_ns", "device_self_ns", "longest_ns", "longest_table",
        "profile_id", "longest_key",
    ))  # fmt: skip
    has_device = any(tree.device_ns)
    for at in range(len(tree)) if root is None else inside_of(tree, root):
        calls, total_ns, self_ns, device_self_ns, device_ns = tree.figures(at)
        device = (device_ns, device_self_ns) if has_device else ("", "")
        longest = tree.longest[at]
        path = harmless(BETWEEN.join(tree.names_above(at)))
        found = (longest.dur_ns, longest.table, longest.profile_id, longest.key)
        writer.writerow((path, tree.depth[at], calls, total_ns, self_ns, *device, *found))
    return "\ufeff" + text.getvalue()
