"""Memory of a compiled graph over its nodes, thinned out to its highest point per interval."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ascend_sn.analysis.memory.static_memory import static_memory_curve
from ascend_sn.analysis.registry import Need, missing_needs
from ascend_sn.insight.answers import ApiError, answer, integer, parameter
from ascend_sn.insight.tables.answer import RunTables
from ascend_sn.store import Run

__all__ = ["GraphCurve", "graph_curve", "static_memory_routes"]

_POINTS: Final = 600
_MOST_POINTS: Final = 4_000
_NODES: Final = 1 << 53


class GraphCurve(msgspec.Struct, kw_only=True):
    """Bytes that are held from each node to the next one listed; the last one listed is the end of the range.

    `recorded` is how many nodes the whole has at which it changes, in this range; `state` says why there is none.
    """

    state: str = "collected"
    reason: str = ""
    turn_on: str = ""
    nodes: list[int] = []
    held_bytes: list[int] = []
    recorded: int = 0


def graph_curve(
    run: Run,
    *,
    profile_id: int,
    device: str,
    model: str,
    graph_id: str,
    from_node: int | None = None,
    to_node: int | None = None,
    points: int = _POINTS,
) -> GraphCurve:
    """Return the curve of a graph between two nodes, both included; of the whole graph where none are given."""
    missing = missing_needs((Need("static_memory"),), run.db)
    if missing is not None:
        return GraphCurve(state=missing.state, reason=missing.reason, turn_on=missing.turn_on)
    whole = static_memory_curve(run.db, profile_id=profile_id, device=device, model=model, graph_id=graph_id)
    if not whole:
        return GraphCurve(state="empty")
    begin = whole[0][0] if from_node is None else max(from_node, whole[0][0])
    end = whole[-1][0] if to_node is None else min(to_node, whole[-1][0])
    part = _part(whole, begin, end)
    kept = _highest(part, points)
    return GraphCurve(nodes=[node for node, _ in kept], held_bytes=[held for _, held in kept], recorded=len(part))


def static_memory_routes(tables_of: Callable[[str], RunTables]) -> list[Route]:
    """Return the route of the curves, relative to the API."""

    def curve(request: Request) -> Response:
        """Memory of a compiled graph over its nodes, thinned out to its highest point per interval.

        Parameters: `profile`, `device`, `model`, `graph_id` as the table `static_graphs` names them, `from_node`,
        `to_node` (the whole graph where not given), `points`.
        """
        begin, end = (_node(request, name) for name in ("from_node", "to_node"))
        if begin is not None and end is not None and begin > end:
            raise ApiError(400, "bad_parameter", "from_node is after to_node")
        profile = integer(request, "profile")
        points = integer(request, "points", _POINTS, low=2, high=_MOST_POINTS)
        device, model, graph = (parameter(request, name) for name in ("device", "model", "graph_id"))

        def found(run: Run) -> GraphCurve:
            return graph_curve(
                run, profile_id=profile, device=device, model=model, graph_id=graph, from_node=begin, to_node=end,
                points=points,
            )  # fmt: skip

        return answer(tables_of(request.path_params["run"]).use(found, of=profile))

    return [Route("/runs/{run}/static-memory-curve", curve, methods=["GET"])]


def _node(request: Request, name: str) -> int | None:
    return integer(request, name, high=_NODES) if name in request.query_params else None


def _part(whole: Sequence[tuple[int, int]], begin: int, end: int) -> list[tuple[int, int]]:
    """Cut a curve: the level that it begins with and that it ends with are part of it."""
    nodes = [node for node, _ in whole]
    if begin > end:
        return []
    first, last = bisect_right(nodes, begin), bisect_right(nodes, end)
    part = [(begin, whole[first - 1][1]), *whole[first:last]]
    return part if part[-1][0] == end else [*part, (end, part[-1][1])]


def _highest(part: Sequence[tuple[int, int]], points: int) -> Sequence[tuple[int, int]]:
    """Return the first highest point of each of `points` intervals of equal length."""
    if len(part) <= points:
        return part
    begin, span = part[0][0], part[-1][0] - part[0][0] + 1
    kept: dict[int, tuple[int, int]] = {}
    for node, held in part:
        interval = (node - begin) * points // span
        if interval not in kept or held > kept[interval][1]:
            kept[interval] = (node, held)
    return list(kept.values())
