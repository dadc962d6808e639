"""Windows and lanes that a request names: `P:t0:t1:track,track;P2:...`, times in ns from the profile's origin."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from starlette.requests import Request

from ascend_sn.insight.answers import ApiError, number, parameter
from ascend_sn.insight.runs import OpenRun
from ascend_sn.store.timeline_files import ProfileMeta, Track

__all__ = ["Asked", "asked_windows", "track_of"]

_LONGEST: Final = 30_000
_TRACKS: Final = 20_000


class Asked(NamedTuple):
    """A window of one profile and the tracks to look at: [t0, t1) in whole ns."""

    profile: ProfileMeta
    t0: int
    t1: int
    tracks: list[Track]


def asked_windows(request: Request, opened: OpenRun) -> list[Asked]:
    """Return the windows of the parameter `q`; one that names no tracks asks for all of its profile.

    Raises:
        ApiError: It is not written like that, or names what is not there.
    """
    found = []
    count = 0
    for part in parameter(request, "q", longest=_LONGEST).split(";"):
        words = part.split(":")
        if len(words) != 4:
            raise ApiError(400, "bad_parameter", "q is written P:t0:t1:track,track;P2:t0:t1:...")
        profile = opened.profile(_number(words[0]))
        t0, t1 = math.floor(number(words[1], "t0")), math.ceil(number(words[2], "t1"))
        if t0 >= t1:
            raise ApiError(400, "bad_parameter", "t0 must be before t1")
        tracks = [track_of(profile, _number(word)) for word in words[3].split(",")] if words[3] else profile.tracks
        count += len(tracks)
        if count > _TRACKS:
            raise ApiError(400, "too_many_tracks", f"at most {_TRACKS} tracks are looked at in one request")
        found.append(Asked(profile, t0, t1, tracks))
    return found


def track_of(profile: ProfileMeta, track: int) -> Track:
    """Return a track of a profile.

    Raises:
        ApiError: There is none of that number.
    """
    if not 0 <= track < len(profile.tracks):
        raise ApiError(404, "no_track", f"profile {profile.profile_id} has no track {track}")
    return profile.tracks[track]


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise ApiError(400, "bad_parameter", "profiles and tracks are whole numbers")
    return int(text)
