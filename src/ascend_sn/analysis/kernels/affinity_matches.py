"""A28: sequences of framework operators for which Ascend has a fused call."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.activity import grouped
from ascend_sn.analysis.kernels.core_types import metadata_operators
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.model.kinds import COMPUTE_KINDS, OWN_WORK_KINDS
from ascend_sn.model.rows import Int64

__all__ = ["ANALYSIS", "affinity_matches", "matched_operators"]

VIEWS_THAT_COUNT: Final = ("contiguous", "to", "type_as")
"""Operators of the metadata list that may do work, and stay in the sequences."""

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "api": "varchar",
    "since": "varchar",
    "sequence": "varchar",
    "phase": "varchar",
    "matches": "bigint",
    "operators": "bigint",
    "host_ns": "bigint",
    "device_ns": "bigint",
    "kernels": "bigint",
    "share_ratio": "double",
    "example_operator_id": "bigint",
    "module": "varchar",
}


class _Api(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the table: a sequence of operators, or the name of a range."""

    api: str
    since: str
    sequence: str | None = None
    range: str | None = None
    views: bool = False
    phases: tuple[str, ...] = ()


class _Sequence(msgspec.Struct, frozen=True, eq=False):
    """Operators of one thread in order: `text` holds their names, each followed by a blank."""

    text: str
    begin: Int64
    place: Int64


def affinity_matches(db: DuckDBPyConnection) -> Result:
    """Search the operators of each thread for the sequences of `affinity.toml`, in captures of Ascend devices.

    A sequence is made of the outermost aten operators (inside an autograd node they count as outermost), without views
    where the entry does not ask for them. An operator is part of one match of an entry. An entry may name a range
    instead, such as the step of an optimizer that is not fused.

    Args:
        db: A connection with the tables `profile`, `operator` and `kernel`.

    Returns:
        One row per entry, sequence and phase found: profile_id, rank, api, since (CANN version), sequence
        (operators by blanks; the range's name), phase, matches (how often it was found), operators (in one
        match; in all ranges), host_ns (their time on the host), device_ns and kernels (each: launched by them
        and what is inside; null where nothing is linked), share_ratio (of the summed kernel time),
        example_operator_id, module (of the example, where known); by profile and device_ns.
    """
    whole = dict(
        db.execute(
            f"select profile_id, sum(dur_ns)::bigint from kernel where kind in {COMPUTE_KINDS} group by 1"
        ).fetchall()
    )
    rows: list[dict[str, Any]] = []
    for profile_id, own in _operators(db):
        rows.extend(_matches(profile_id, own, whole.get(profile_id)))
    rows.sort(key=_order)
    return listed(db, rows, _TYPES)


def matched_operators(db: DuckDBPyConnection, profile_id: int, api: str) -> list[Int64]:
    """Return the operators of each match of a call in one profile, with what is inside them, for pricing.

    Args:
        db: A connection with the tables `profile`, `operator` and `kernel`.
        profile_id: The profile.
        api: The call, as `affinity_matches` names it.

    Returns:
        operator_id of each match, in order of start.
    """
    found = []
    for number, own in _operators(db):
        if number != profile_id:
            continue
        ids = np.asarray(own["operator_id"], np.int64)
        start, dur = np.asarray(own["ts_ns"], np.int64), np.asarray(own["dur_ns"], np.int64)
        thread = np.asarray(own["thread"], object)
        for one, _, _, places in _hits(own):
            if one.api == api:
                found.append(ids[_inside(thread, start, dur, places)])
    return found


def _operators(db: DuckDBPyConnection) -> Iterator[tuple[int, dict[str, Any]]]:
    """The operators of each profile on Ascend, by thread and time, outer before inner, with what they launched."""
    found = db.execute(f"""
        with launched as (
            select profile_id, operator_id, sum(dur_ns)::bigint as device_ns, count(*) as kernels
            from kernel
            where operator_id is not null and kind in {OWN_WORK_KINDS}
            group by profile_id, operator_id
        )
        select operator.profile_id, operator.rank, operator.operator_id, coalesce(parent_id, -1)::bigint as parent_id,
               thread, name, phase, module, ts_ns, dur_ns,
               coalesce(device_ns, 0)::bigint as device_ns, coalesce(kernels, 0)::bigint as kernels
        from operator
        join (select profile_id from profile where device_kind = 'npu') on_npu using (profile_id)
        left join launched using (profile_id, operator_id)
        order by operator.profile_id, thread, ts_ns, dur_ns desc, operator.operator_id
    """).fetchnumpy()
    for profile_id, part in grouped(found["profile_id"]).items():
        yield profile_id, {name: column[part] for name, column in found.items()}


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["profile_id"], -(row["device_ns"] or 0), -row["host_ns"], row["api"], row["sequence"], row["phase"])


def _matches(profile_id: int, own: dict[str, Any], whole: int | None) -> list[dict[str, Any]]:
    ids = np.asarray(own["operator_id"], np.int64)
    start, dur = np.asarray(own["ts_ns"], np.int64), np.asarray(own["dur_ns"], np.int64)
    thread = np.asarray(own["thread"], object)
    linked = bool(np.asarray(own["kernels"]).any())
    rows = []
    merged: dict[_Api, dict[tuple[str, str], list[list[int]]]] = {}
    for api, text, phase, places in _hits(own):
        merged.setdefault(api, {}).setdefault((text, phase), []).append(places)
    for api, groups in merged.items():
        for (text, phase), all_places in groups.items():
            inside = _inside(thread, start, dur, [place for places in all_places for place in places])
            device = int(np.asarray(own["device_ns"])[inside].sum())
            first = all_places[0][0]
            module = own["module"][first]
            rank = own["rank"][first]
            rows.append(
                {
                    "profile_id": profile_id,
                    "rank": None if rank is np.ma.masked else int(rank),
                    "api": api.api,
                    "since": api.since,
                    "sequence": text,
                    "phase": phase,
                    "matches": len(all_places),
                    "operators": len(all_places[0]) if api.range is None else int(inside.sum()) - len(all_places),
                    "host_ns": sum(int(dur[place]) for places in all_places for place in places),
                    "device_ns": device if linked else None,
                    "kernels": int(np.asarray(own["kernels"])[inside].sum()) if linked else None,
                    "share_ratio": device / whole if linked and whole else None,
                    "example_operator_id": int(ids[first]),
                    "module": None if module is np.ma.masked or module is None else str(module),
                }
            )
    return rows


def _hits(own: dict[str, Any]) -> Iterator[tuple[_Api, str, str, list[int]]]:
    """Yield the matches of every entry: what was found, its phase, and the places of its operators."""
    names = np.asarray(own["name"], object)
    sequences = {views: _sequences(own, names, views) for views in (False, True)}
    for api, pattern in _apis():
        if api.range is not None:
            hits = [(name, [at]) for at, name in enumerate(names.tolist()) if name and pattern.fullmatch(name)]
        else:
            hits = [
                (match[0].strip(), sequence.place[low:high].tolist())
                for sequence in sequences[api.views]
                for match in pattern.finditer(sequence.text)
                for low, high in [np.searchsorted(sequence.begin, match.span()).tolist()]
            ]
        for text, places in hits:
            phase = str(own["phase"][places[0]] or "other")
            if not api.phases or phase in api.phases:
                yield api, text, phase, places


def _inside(thread: Any, start: Int64, dur: Int64, places: list[int]) -> Any:
    """Mask of the operators at `places` and what they enclose; rows are by thread and start, outer before inner."""
    mask = np.zeros(len(start), np.bool_)
    for place in places:
        end, at = start[place] + dur[place], place + 1
        mask[place] = True
        while at < len(start) and thread[at] == thread[place] and start[at] < end:
            mask[at] = True
            at += 1
    return mask


def _sequences(own: dict[str, Any], names: Any, views: bool) -> list[_Sequence]:
    """The outermost aten operators of each thread, in order of start."""
    ids, parents = own["operator_id"], own["parent_id"]
    name_of = dict(zip(ids.tolist(), names.tolist(), strict=True))
    left_out = set() if views else set(metadata_operators()) - set(VIEWS_THAT_COUNT)
    by_thread: dict[str, tuple[list[str], list[int]]] = {}
    for place, (name, parent, thread) in enumerate(
        zip(names.tolist(), parents.tolist(), own["thread"].tolist(), strict=True)
    ):
        if name is None or not name.startswith("aten::") or str(name_of.get(parent, "")).startswith("aten::"):
            continue
        plain = name.removeprefix("aten::")
        if plain not in left_out:
            texts, places = by_thread.setdefault(str(thread), ([], []))
            texts.append(plain + " ")
            places.append(place)
    return [
        _Sequence(
            "".join(texts),
            np.cumsum([0, *(len(text) for text in texts[:-1])]).astype(np.int64),
            np.array(places, np.int64),
        )
        for texts, places in by_thread.values()
    ]


@cache
def _apis() -> tuple[tuple[_Api, re.Pattern[str]], ...]:
    text = Path(__file__).with_name("affinity.toml").read_text("utf-8")
    table = msgspec.convert(tomllib.loads(text)["api"], tuple[_Api, ...])
    return tuple(
        (api, re.compile(api.range if api.range is not None else rf"(?<!\S)(?:{api.sequence})")) for api in table
    )


ANALYSIS = Analysis(
    code="A28",
    name="affinity_matches",
    title="Sequences with a fused call",
    per_profile=affinity_matches,
    needs=(Need("operator"),),
)
