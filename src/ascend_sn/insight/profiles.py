"""The profiles of a run over HTTP: what a page needs to name ranks, and, where asked for, to place them."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ascend_sn.insight.alignment import automatic_places
from ascend_sn.insight.answers import answer, switch
from ascend_sn.insight.runs import OpenRun, Served

__all__ = ["ListedProfile", "profile_routes", "profiles_of"]


class ListedProfile(msgspec.Struct, frozen=True):
    """A profile: whose it is, and where its time begins.

    `origin_ns` is in its own clock, as text; `place_ns` is where that stands on the common axis, null unless asked for.
    """

    profile_id: int
    rank: int | None
    host: str | None
    source: str
    origin_ns: str
    dur_ns: int
    place_ns: int | float | None


def profile_routes(served: Served) -> list[Route]:
    """Return the route of profiles."""

    def profiles(request: Request) -> Response:
        """All profiles by rank, without their tracks.

        Parameters: `places` = 1 tells where each stands on the common axis by the automatic alignment, which may take
        seconds in a large job.
        """
        opened = served.opened(request.path_params["run"])
        placed = switch(request, "places")
        return answer(opened.once(f"profiles {placed}", lambda: profiles_of(opened, placed=placed)))

    return [Route("/runs/{run}/profiles", profiles, methods=["GET"])]


def profiles_of(opened: OpenRun, *, placed: bool) -> list[ListedProfile]:
    """Return the profiles by rank; with `placed` also where they stand on the common axis."""
    places = {one.profile_id: one.place_ns for one in automatic_places(opened)} if placed else {}
    rows = opened.query("select profile_id, rank, host, source from profile order by rank nulls last, profile_id")
    return [
        ListedProfile(
            profile_id, rank, host, source, str(opened.profiles[profile_id].origin_ns),
            opened.profiles[profile_id].dur_ns, places.get(profile_id),
        )
        for profile_id, rank, host, source in rows
        if profile_id in opened.profiles
    ]  # fmt: skip
