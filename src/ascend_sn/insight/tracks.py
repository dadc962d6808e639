"""What the timeline is made of: profiles with their clocks, tracks with their labels, names, steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ascend_sn.insight.alignment import automatic_places, clocks, possible_alignments
from ascend_sn.insight.answers import answer, integer, language
from ascend_sn.insight.runs import Documents, OpenRun, Served
from ascend_sn.store.timeline_files import Track

__all__ = ["NAMES_IN_CHUNK", "group_kinds", "profile_label", "track_label", "track_routes"]

NAMES_IN_CHUNK: Final = 4096
_STEPS: Final = 20_000

# Table -> message of the heading, message of the label, and of a label where nothing tells the lanes apart.
_TEXTS: Final = {
    "step": ("timeline.marks", "timeline.steps", "timeline.steps"),
    "span": ("timeline.marks", "timeline.spans-of", "timeline.spans"),
    "operator": ("timeline.host", "timeline.operators-of", "timeline.operators"),
    "host_call": ("timeline.host", "timeline.calls-of", "timeline.calls"),
    "kernel": ("timeline.device", "timeline.stream", "timeline.kernels"),
    "collective": ("timeline.communication", "timeline.group", "timeline.collectives"),
    "comm_task": ("timeline.communication", "timeline.tasks-of", "timeline.tasks"),
    "overlap": ("timeline.overlap", "", ""),
    "counter": ("timeline.counters", "", ""),
    "metric": ("timeline.metrics", "", ""),
    "memory_sample": ("timeline.memory", "", ""),
    "memory_event": ("timeline.allocator", "", ""),
}
_WORDS: Final = {
    "allocated": "timeline.allocated",
    "reserved": "timeline.reserved",
    "active": "timeline.active",
    "compute": "timeline.compute",
    "exposed_communication": "timeline.exposed-communication",
    "overlapped_communication": "timeline.overlapped-communication",
    "exposed_copy": "timeline.exposed-copy",
    "free": "timeline.free",
}


def track_routes(served: Served) -> list[Route]:
    """Return the routes of tracks, names and steps."""

    def tracks(request: Request) -> Response:
        """Profiles, tracks, kinds of slices, and which alignments are possible.

        Parameters: `lang` (labels are in it).
        """
        opened = served.opened(request.path_params["run"])
        code = language(request)
        return answer(opened.once(f"tracks {code}", lambda: _described(opened, served.documents, code)))

    def names(request: Request) -> Response:
        """4096 names from number `chunk` * 4096 on; slices name them by number."""
        timeline = served.opened(request.path_params["run"]).timeline
        first = integer(request, "chunk", 0, high=1 << 40) * NAMES_IN_CHUNK
        return answer(timeline.names(first, min(first + NAMES_IN_CHUNK, timeline.meta.name_count)))

    def steps(request: Request) -> Response:
        """The steps of all profiles, at most 20,000, times from the origin of the profile."""
        opened = served.opened(request.path_params["run"])
        rows = opened.query(
            "select profile_id, step_id, step, ts_ns, dur_ns from step order by profile_id, ts_ns limit $limit",
            {"limit": _STEPS},
        )
        return answer(
            [
                {"profile_id": p, "step_id": i, "step": s, "start": at - opened.profiles[p].origin_ns, "dur": dur}
                for p, i, s, at, dur in rows
                if p in opened.profiles
            ]
        )

    return [
        Route("/runs/{run}/tracks", tracks),
        Route("/runs/{run}/names", names),
        Route("/runs/{run}/steps", steps),
    ]


def profile_label(row: Mapping[str, Any], texts: Documents, code: str) -> str:
    """What a profile is called: its rank, else its process, else its source."""
    if row["rank"] is not None:
        return texts.text(code, "timeline.rank", {"rank": str(row["rank"])})
    if row["pid"] is not None:
        return texts.text(code, "timeline.process", {"pid": str(row["pid"])})
    return str(row["source"])


def group_kinds(opened: OpenRun) -> Mapping[str, str]:
    """What each communicator is for (tp, pp, dp, ...), where that was recorded."""
    return opened.once("group kinds", lambda: _group_kinds(opened))


def _group_kinds(opened: OpenRun) -> dict[str, str]:
    found = opened.query(
        "select group_id, any_value(kind) from comm_group_member where kind <> 'default' group by group_id"
    )
    return dict(found)


def track_label(track: Track, texts: Documents, code: str, kinds: Mapping[str, str]) -> tuple[str, str]:
    """Label and heading of a track; `kinds` as `group_kinds` returns them."""
    heading, label, plain = _TEXTS[track.table]
    group, own = track.group, track.label

    def text(key: str, **params: str) -> str:
        return texts.text(code, key, params)

    if track.table in ("counter", "metric"):
        return own or "", group or text(heading)
    if track.table in ("memory_sample", "memory_event"):
        return text(_WORDS[own or "allocated"]), text(heading, of=group or "?")
    if track.side == "requests":
        return own or text("timeline.requests-all"), text("timeline.requests")
    if track.table == "overlap":
        return text(_WORDS[own or "free"]), text(heading)
    parent = text(heading, device=group or "0") if track.table == "kernel" else text(heading)
    if track.table == "host_call":
        level = group or text("timeline.calls")
        return (text(label, level=level, own=own) if own is not None else level), parent
    if track.table == "span":
        domain = group or text("timeline.spans")
        return (text(label, domain=domain, own=own) if own is not None else domain), parent
    if track.table == "collective" and own is not None and own in kinds:
        return text("timeline.group-of-kind", kind=kinds[own].upper(), own=own), parent
    return (text(label, own=own) if own is not None else text(plain)), parent


def _described(opened: OpenRun, texts: Documents, code: str) -> dict[str, Any]:
    names, rows = opened.columns(
        "select profile_id, rank, pid, host, source, device_kind, device_name from profile order by profile_id"
    )
    places = {place.profile_id: place for place in automatic_places(opened)}
    known, kinds = clocks(opened), group_kinds(opened)
    profiles, tracks = [], []
    for row in (dict(zip(names, values, strict=True)) for values in rows):
        profile_id = row["profile_id"]
        meta = opened.profiles.get(profile_id)
        if meta is None:
            continue
        profiles.append(
            {
                "profile_id": profile_id,
                "rank": row["rank"],
                "host": row["host"],
                "label": profile_label(row, texts, code),
                "device_kind": row["device_kind"],
                "device_name": row["device_name"],
                "origin_ns": str(meta.origin_ns),
                "dur_ns": meta.dur_ns,
                "clock": known[profile_id],
                "place_ns": places[profile_id].place_ns,
            }
        )
        for track in meta.tracks:
            label, parent = track_label(track, texts, code, kinds)
            tracks.append(
                {
                    "profile_id": profile_id,
                    "track": track.track,
                    "side": track.side,
                    "table": track.table,
                    "label": label,
                    "parent": parent,
                    "depths": track.depths,
                    "slice_count": track.slice_count,
                    "unit": track.unit,
                }
            )
    return {
        "profiles": profiles,
        "kinds": opened.timeline.meta.kinds,
        "tracks": tracks,
        "name_count": opened.timeline.meta.name_count,
        "slice_count": sum(track["slice_count"] for track in tracks),
        "alignments": possible_alignments(opened),
    }
