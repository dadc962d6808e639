"""Where the origin of each profile stands on one axis: by the clocks, by a step, or by a collective they met in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ascend_sn.analysis import Missing, result
from ascend_sn.insight.answers import ApiError, answer, integer, parameter
from ascend_sn.insight.ranks import ACROSS
from ascend_sn.insight.runs import OpenRun, Served
from ascend_sn.model.kinds import UNMATCHED

__all__ = ["Clock", "Place", "alignment_routes", "automatic_places", "clocks", "possible_alignments"]

_UNALIGNED: Final = "its clock could not be aligned; it stands where its steps do, or at the begin"


class Clock(msgspec.Struct, frozen=True):
    """How the clock of a profile is aligned; see `analysis.clock_offsets`."""

    offset_ns: str | None
    error_ns: int | None
    method: str
    reason: str | None


class Place(msgspec.Struct, frozen=True):
    """Where the origin of a profile stands; `reason` says why it is a guess."""

    profile_id: int
    place_ns: int
    error_ns: int | None
    reason: str | None


def alignment_routes(served: Served) -> list[Route]:
    """Return the route of the alignment."""

    def alignment(request: Request) -> Response:
        """Where the profiles stand on one axis.

        Parameters: `by` = `clock`, `steps` (of `step`, the first common one where not given), `collective` (ends of the
        `collective`, a collective_id of `profile`), or `none` (each begins at 0).
        """
        opened = served.opened(request.path_params["run"])
        by = parameter(request, "by", "clock")
        if by == "collective":
            places = _by_collective(opened, integer(request, "profile"), integer(request, "collective"))
        elif by == "steps":
            step = integer(request, "step", -1, low=-1)
            places = _by_steps(opened, None if step < 0 else step)
        elif by == "none":
            places = [Place(profile_id, 0, None, None) for profile_id in opened.profiles]
        elif by == "clock":
            places = automatic_places(opened)
        else:
            raise ApiError(400, "bad_parameter", "by is one of clock, steps, collective, none")
        return answer({"places": places})

    return [Route("/runs/{run}/alignment", alignment)]


def clocks(opened: OpenRun) -> dict[int, Clock]:
    """Return how each clock is aligned."""
    return opened.once("clocks", lambda: _clocks(opened))


def _clocks(opened: OpenRun) -> dict[int, Clock]:
    with opened.across.lock:
        found = result(opened.across.run, "clock_offsets")
        rows = (
            []
            if isinstance(found, Missing)
            else found.select("profile_id, offset_ns, error_ns, method, reason").fetchall()
        )
    known = {
        int(profile_id): Clock(None if offset is None else str(offset), error, method, reason)
        for profile_id, offset, error, method, reason in rows
    }
    unknown = Clock(None, None, "unknown", None)
    return {profile_id: known.get(profile_id, unknown) for profile_id in opened.profiles}


def automatic_places(opened: OpenRun) -> list[Place]:
    """Place profiles by their clocks; one whose clock is unknown by its steps, else at the begin."""
    return opened.once("places", lambda: _automatic(opened))


def possible_alignments(opened: OpenRun) -> list[str]:
    """Name the alignments that more than one profile can take part in."""
    known = sum(clock.offset_ns is not None for clock in clocks(opened).values())
    steps = len({profile_id for profile_id, _ in _step_starts(opened)})
    return [*(["clock"] if known > 1 else []), *(["steps"] if steps > 1 else []), "none"]


def _automatic(opened: OpenRun) -> list[Place]:
    aligned = {
        profile_id: opened.profiles[profile_id].origin_ns - int(clock.offset_ns)
        for profile_id, clock in clocks(opened).items()
        if clock.offset_ns is not None
    }
    base = min(aligned.values(), default=0)
    errors = {profile_id: clock.error_ns for profile_id, clock in clocks(opened).items()}
    places = {profile_id: Place(profile_id, at - base, errors[profile_id], None) for profile_id, at in aligned.items()}
    if len(places) < len(opened.profiles):
        by_steps = {place.profile_id: place for place in _by_steps(opened, None)}
        shift = next(
            (place.place_ns - by_steps[profile_id].place_ns for profile_id, place in places.items()
             if by_steps[profile_id].reason is None), 0,
        )  # fmt: skip
        for profile_id in opened.profiles.keys() - places.keys():
            guess = by_steps[profile_id]
            at = guess.place_ns + shift if guess.reason is None else 0
            places[profile_id] = Place(profile_id, at, None, clocks(opened)[profile_id].reason or _UNALIGNED)
    return [places[profile_id] for profile_id in opened.profiles]


def _by_steps(opened: OpenRun, step: int | None) -> list[Place]:
    """Let a step begin at the same moment everywhere: the first number that most profiles have."""
    starts = _step_starts(opened)
    numbers: dict[int, int] = {}
    for _, number in starts:
        numbers[number] = numbers.get(number, 0) + 1
    chosen = step if step is not None else min(numbers, key=lambda number: (-numbers[number], number), default=None)
    moments = {profile_id: at for (profile_id, number), at in starts.items() if number == chosen}
    return _together(opened, moments, (), "the step was not recorded here")


def _step_starts(opened: OpenRun) -> dict[tuple[int, int], int]:
    """Start of each numbered step from the origin of its profile; where none is numbered, by their order."""
    rows = opened.once(
        "step starts",
        lambda: opened.query("select profile_id, coalesce(step, step_id), min(ts_ns) from step group by 1, 2"),
    )
    return {
        (int(profile_id), int(number)): int(at) - opened.profiles[profile_id].origin_ns
        for profile_id, number, at in rows
        if profile_id in opened.profiles and number is not None and at is not None
    }


def _by_collective(opened: OpenRun, profile_id: int, collective: int) -> list[Place]:
    """Let a collective end at the same moment on all its members."""
    opened.profile(profile_id)
    rows = opened.query(
        f"""
        with chosen as (
            select group_id, op, sequence, op in {UNMATCHED} as is_alone
            from {ACROSS}
            where profile_id = $profile and collective_id = $collective and sequence is not null
        )
        select profile_id, max(ts_ns + dur_ns)
        from {ACROSS}
        join chosen using (group_id, op, sequence)
        where profile_id = $profile or not is_alone
        group by profile_id
        """,
        {"profile": profile_id, "collective": collective},
    )
    moments = {
        int(member): int(end) - opened.profiles[member].origin_ns for member, end in rows if member in opened.profiles
    }
    if profile_id not in moments:
        raise ApiError(404, "no_collective", f"profile {profile_id} has no numbered collective {collective}")
    return _together(opened, moments, (profile_id,), "it is no member of this collective")


def _together(opened: OpenRun, moments: Mapping[int, int], first: Iterable[int], reason: str) -> list[Place]:
    """Put one moment of each profile at the same place; who has none keeps its distance from one that has."""
    latest = max(moments.values(), default=0)
    automatic: dict[int, int] = {}
    anchor = next(iter([*first, *moments]), None)
    if anchor is not None and opened.profiles.keys() - moments.keys() and first:
        automatic = {place.profile_id: place.place_ns for place in automatic_places(opened)}
    places = []
    for profile_id in opened.profiles:
        if profile_id in moments:
            places.append(Place(profile_id, latest - moments[profile_id], None, None))
        elif automatic and anchor is not None:
            shift = latest - moments[anchor] - automatic[anchor]
            places.append(Place(profile_id, automatic[profile_id] + shift, None, reason))
        else:
            places.append(Place(profile_id, 0, None, reason))
    return places
