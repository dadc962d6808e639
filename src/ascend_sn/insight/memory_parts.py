"""Memory over time by its parts, at moments that all parts have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ascend_sn.analysis.memory.memory_breakdown import memory_part_curves
from ascend_sn.insight.answers import ApiError, answer, integer, parameter
from ascend_sn.insight.tables.answer import RunTables
from ascend_sn.store import Run

__all__ = ["PartCurves", "part_curves", "part_routes"]

_POINTS: Final = 400
_MOST_POINTS: Final = 2_000
_FAMILIES: Final = ("category", "module")
_FAR: Final = 1 << 60


class PartOverTime(msgspec.Struct):
    """Bytes of a part at the moments of all."""

    part: str
    held_bytes: list[int]


class PartCurves(msgspec.Struct):
    """Parts by size at moments from the begin of the profile, ns."""

    at_ns: list[int]
    parts: list[PartOverTime]


def part_curves(
    run: Run, *, profile_id: int, family: str, from_ns: int | None, to_ns: int | None, points: int
) -> PartCurves:
    """Return the curves of the parts of a profile whose tables are answered (`page_origin` is there).

    Raises:
        ApiError: There is no such profile.
    """
    found = run.db.execute("select origin_ns from page_origin where profile_id = ?", [profile_id]).fetchone()
    if found is None or found[0] is None:
        raise ApiError(404, "no_profile", f"there is no profile {profile_id}")
    origin: int = found[0]
    begin, end = (None if one is None else one + origin for one in (from_ns, to_ns))
    curves = memory_part_curves(run.db, profile_id=profile_id, family=family, begin_ns=begin, end_ns=end, points=points)
    return PartCurves(
        at_ns=[ts - origin for ts in curves[0].ts_ns] if curves else [],
        parts=[PartOverTime(curve.part, curve.held_bytes) for curve in curves],
    )


def part_routes(tables_of: Callable[[str], RunTables]) -> list[Route]:
    """Return the route of memory by its parts, relative to the API."""

    def parts(request: Request) -> Response:
        """Memory over time by its parts, at the highest moment of each interval.

        Parameters: `profile`, `family` (category or module, as in the table `memory_parts`), `from_ns`, `to_ns` (from
        the origin; the whole where not given), `points`.
        """
        family = parameter(request, "family")
        if family not in _FAMILIES:
            raise ApiError(400, "bad_parameter", f"family is one of {', '.join(_FAMILIES)}")
        profile = integer(request, "profile")
        begin, end = (_moment(request, name) for name in ("from_ns", "to_ns"))
        points = integer(request, "points", _POINTS, low=2, high=_MOST_POINTS)

        def found(run: Run) -> PartCurves:
            return part_curves(run, profile_id=profile, family=family, from_ns=begin, to_ns=end, points=points)

        return answer(tables_of(request.path_params["run"]).use(found, of=profile))

    return [Route("/runs/{run}/memory-parts", parts, methods=["GET"])]


def _moment(request: Request, name: str) -> int | None:
    return integer(request, name, low=-_FAR, high=_FAR) if name in request.query_params else None
