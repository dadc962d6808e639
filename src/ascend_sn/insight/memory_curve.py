"""A memory curve between two moments, thinned out to its highest point per interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ascend_sn.errors import UnknownNameError, UsageError
from ascend_sn.insight.tables.answer import RunTables
from ascend_sn.store import Run

__all__ = ["CurvePart", "curve_part", "curve_routes"]

_POINTS: Final = 600
_MOST_POINTS: Final = 4_000
_KNOWN: Final = ("profile", "component", "from_ns", "to_ns", "points", "lang")

_LEVELS: Final = """
    with origin as (
        select profile_id, origin_ns from page_origin where profile_id = $profile
    ),
    level as (
        select ts_ns - origin_ns as at_ns, allocated_bytes, reserved_bytes, active_bytes
        from memory_sample
        join origin using (profile_id)
        where component = $component
        union all
        select ts_ns - origin_ns, allocated_bytes, reserved_bytes, active_bytes
        from memory_event
        join origin using (profile_id)
        where coalesce(device, 'device') = $component
          and (select count(*) from memory_sample where profile_id = $profile and component = $component) < 2
    ),
    span as (
        select coalesce($from, min(at_ns)) as from_ns, coalesce($to, max(at_ns)) as to_ns, count(*) as points
        from level
    )
    select arg_max(at_ns, (coalesce(allocated_bytes, reserved_bytes, active_bytes), -at_ns))::bigint as at_ns,
           max(allocated_bytes) as allocated_bytes, max(reserved_bytes) as reserved_bytes,
           max(active_bytes) as active_bytes, count(*) as points
    from level, span
    where at_ns between from_ns and to_ns and coalesce(allocated_bytes, reserved_bytes, active_bytes) is not null
    group by least((at_ns - from_ns) * $count // greatest(to_ns - from_ns, 1), $count - 1)
    order by at_ns
"""


class CurvePart(msgspec.Struct, kw_only=True):
    """Points of a curve; `recorded` is how many the source holds there. Times from the begin of the profile, ns."""

    at_ns: list[int]
    allocated_bytes: list[int | None]
    reserved_bytes: list[int | None]
    active_bytes: list[int | None]
    recorded: int


def curve_part(run: Run, given: Mapping[str, str]) -> CurvePart:
    """Return a curve of a run whose tables are answered (`page_origin` is there).

    Raises:
        UnknownNameError: A parameter or a profile that is not there.
        UsageError: A number that is none, or out of bounds.
    """
    for name in given:
        if name not in _KNOWN:
            raise UnknownNameError("parameter", name, _KNOWN, None)
    numbers = {name: _number(name, given.get(name)) for name in ("profile", "from_ns", "to_ns", "points")}
    if numbers["points"] is not None and not 2 <= numbers["points"] <= _MOST_POINTS:
        raise UsageError(f"points is a number from 2 to {_MOST_POINTS}")
    begin, end = numbers["from_ns"], numbers["to_ns"]
    if begin is not None and end is not None and begin > end:
        raise UsageError("from_ns is after to_ns")
    profiles = [profile for (profile,) in run.db.execute("select profile_id from page_origin order by 1").fetchall()]
    if (numbers["profile"] or 0) not in profiles:
        raise UnknownNameError("profile", str(numbers["profile"] or 0), tuple(map(str, profiles)), None)
    rows = run.db.execute(
        _LEVELS,
        {
            "profile": numbers["profile"] or 0,
            "component": given.get("component", ""),
            "from": numbers["from_ns"],
            "to": numbers["to_ns"],
            "count": min(_MOST_POINTS, max(2, numbers["points"] or _POINTS)),
        },
    ).fetchall()
    columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(5)]
    return CurvePart(
        at_ns=columns[0],
        allocated_bytes=columns[1],
        reserved_bytes=columns[2],
        active_bytes=columns[3],
        recorded=sum(columns[4]),
    )


def curve_routes(tables_of: Callable[[str], RunTables]) -> list[Route]:
    """Return the route of memory curves, relative to the API."""

    def curve(request: Request) -> Response:
        """A memory curve, thinned out to its highest point per interval.

        Parameters: `profile`, `component`, `from_ns`, `to_ns` (from the origin; the whole curve where not given),
        `points`.
        """
        given = dict(request.query_params)
        profile = _number("profile", given.get("profile")) or 0
        found = tables_of(request.path_params["run"]).use(lambda run: curve_part(run, given), of=profile)
        return Response(msgspec.json.encode(found), media_type="application/json")

    return [Route("/runs/{run}/memory-curve", curve, methods=["GET"])]


def _number(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        number = int(float(text))
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{name} is no number: {text[:40]!r}") from error
    if abs(number) >= 1 << 62:
        raise UsageError(f"{name} is too large")
    return number
