"""Search: first among the names, each of which is there once, then for the slices of those that match."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ascend_sn.insight.answers import ApiError, answer, integer, language, parameter, switch
from ascend_sn.insight.places import Ref, ref_at, refs_of_rows
from ascend_sn.insight.runs import OpenRun, Served
from ascend_sn.insight.tracks import group_kinds, profile_label, track_label
from ascend_sn.model.tables import BY_NAME
from ascend_sn.store.timeline_files import ProfileMeta
from ascend_sn.store.timeline_lanes import LANES, LaneKind, kind_query

__all__ = ["search_routes"]

_HITS: Final = 10_000
_AT_ONCE: Final = 2_000_000

_NO_WORD_BEFORE: Final = r"(?<!\w)"
_NO_WORD_AFTER: Final = r"(?!\w)"

Places = NDArray[np.int64]
Labels = Callable[[ProfileMeta, int], tuple[str, str]]


class Hit(msgspec.Struct, frozen=True):
    """A slice that was found, and where."""

    profile_id: int
    track: int
    depth: int
    slice: int
    start: int
    dur: int
    name: str
    profile_label: str
    track_label: str


def search_routes(served: Served) -> list[Route]:
    """Return the route of the search."""

    def search(request: Request) -> Response:
        """Slices by name, or by what their rows say.

        Parameters: `text`, `where` = `name` or `arguments`, `match_case`, `whole_word`, `profile` (all where not
        given), `limit` (default 200, at most 10,000), `from`, `lang`. Hits come by profile, track, depth and
        time; `count` is that of all.
        """
        opened = served.opened(request.path_params["run"])
        text = parameter(request, "text")
        if not text:
            return answer({"count": 0, "hits": []})
        chosen = integer(request, "profile", -1, low=-1)
        profiles = list(opened.profiles.values()) if chosen < 0 else [opened.profile(chosen)]
        first, limit = integer(request, "from", 0), integer(request, "limit", 200, high=_HITS)
        where = parameter(request, "where", "name")
        pattern = _pattern(text, match_case=switch(request, "match_case"), whole_word=switch(request, "whole_word"))
        if where == "name":
            count, found = _by_name(opened, profiles, re.compile(*pattern), first, limit)
        elif where == "arguments":
            count, found = _by_arguments(opened, profiles, pattern, first, limit)
        else:
            raise ApiError(400, "bad_parameter", "where is name or arguments")
        labels = _labels(opened, served, language(request))
        hits = [_hit(ref, *labels(opened.profiles[ref.profile_id], ref.track)) for ref in found]
        return answer({"count": count, "hits": hits})

    return [Route("/runs/{run}/search", search)]


def _hit(ref: Ref, profile_label: str, track_label: str) -> Hit:
    return Hit(
        ref.profile_id, ref.track, ref.depth, ref.slice, ref.start, ref.dur, ref.name, profile_label, track_label
    )


def _pattern(text: str, *, match_case: bool, whole_word: bool) -> tuple[str, re.RegexFlag]:
    plain = re.escape(text)
    whole = f"{_NO_WORD_BEFORE}{plain}{_NO_WORD_AFTER}" if whole_word else plain
    return whole, re.NOFLAG if match_case else re.IGNORECASE


def _by_name(
    opened: OpenRun, profiles: list[ProfileMeta], pattern: re.Pattern[str], first: int, limit: int
) -> tuple[int, list[Ref]]:
    names = opened.once("names", lambda: opened.timeline.names(0, opened.timeline.meta.name_count))
    matches = np.fromiter((pattern.search(name) is not None for name in names), np.bool_, len(names))
    if not matches.any():
        return 0, []
    count, found = 0, list[Ref]()
    for profile in profiles:
        for place in _places(opened, profile, matches):
            wanted = place[max(first - count, 0) : max(first + limit - count, 0)]
            count += len(place)
            found += _refs(opened, profile, wanted)
    return count, found


def _places(opened: OpenRun, profile: ProfileMeta, matches: NDArray[np.bool_]) -> Iterator[Places]:
    """Places of matching slices in the arrays of a profile, some at a time; points of curves are none."""
    arrays = opened.timeline.arrays(profile.profile_id)
    curves = [track.first_segment for track in profile.tracks if track.side == "counter"]
    past = arrays.segment(min(curves)).place if curves else len(arrays.name)
    for at in range(0, past, _AT_ONCE):
        yield at + np.flatnonzero(matches.take(arrays.name[at : min(at + _AT_ONCE, past)], mode="clip"))


def _refs(opened: OpenRun, profile: ProfileMeta, places: Places) -> list[Ref]:
    if not len(places):
        return []
    arrays = opened.timeline.arrays(profile.profile_id)
    begins = arrays.segments[:, 3]
    firsts = np.array([track.first_segment for track in profile.tracks if track.side != "counter"])
    # The last segment that begins there: those before it are empty.
    segments = np.searchsorted(begins, places, side="right") - 1
    tracks = np.searchsorted(firsts, segments, side="right") - 1
    return [
        ref_at(opened, profile, profile.tracks[track], segment - int(firsts[track]), place - int(begins[segment]))
        for place, segment, track in zip(places.tolist(), segments.tolist(), tracks.tolist(), strict=True)
    ]


def _by_arguments(
    opened: OpenRun, profiles: list[ProfileMeta], pattern: tuple[str, re.RegexFlag], first: int, limit: int
) -> tuple[int, list[Ref]]:
    """Search the texts of the tables; slower than by name, as every row is looked at."""
    count, found = 0, list[Ref]()
    for profile in profiles:
        for kind in LANES:
            condition = _condition(kind)
            if condition is None:
                continue
            said = {
                "profile": profile.profile_id,
                "text": _for_duckdb(pattern[0]),
                "how": "c" if pattern[1] == re.NOFLAG else "i",
            }
            inner = kind_query(kind) + f" and {condition}"
            ((here,),) = opened.query(f"select count(*) from ({inner})", said, of=profile.profile_id)
            if here and first < count + here and len(found) < limit:
                rows = opened.query(
                    f"""
                    select "group", label, key, ts_ns, dur_ns
                    from ({inner})
                    order by ts_ns, key
                    limit {limit - len(found)} offset {max(first - count, 0)}
                    """,
                    said,
                    of=profile.profile_id,
                )
                found += refs_of_rows(opened, kind, profile.profile_id, rows)
            count += int(here)
    return count, found


def _condition(kind: LaneKind) -> str | None:
    """Whether a row holds the text, as SQL; None where the table has no texts beside the name."""
    texts = [column.name for column in BY_NAME[kind.table].columns if column.type == "text" and column.name != "name"]
    return f"regexp_matches(concat_ws(chr(10), {', '.join(texts)}), $text, $how)" if texts else None


def _for_duckdb(pattern: str) -> str:
    """The pattern without what RE2 does not know: words are parted by what is no word on either side."""
    if not pattern.startswith(_NO_WORD_BEFORE):
        return pattern
    plain = pattern.removeprefix(_NO_WORD_BEFORE).removesuffix(_NO_WORD_AFTER)
    return rf"(?:^|\W){plain}(?:\W|$)"


def _labels(opened: OpenRun, served: Served, code: str) -> Labels:
    names, rows = opened.columns("select profile_id, rank, pid, source from profile")
    profiles = {row[0]: dict(zip(names, row, strict=True)) for row in rows}
    kinds = group_kinds(opened)

    def labels(profile: ProfileMeta, track: int) -> tuple[str, str]:
        own = profile_label(profiles[profile.profile_id], served.documents, code)
        return own, track_label(profile.tracks[track], served.documents, code, kinds)[0]

    return labels
