"""The costliest slice of a finding: what somebody looks at first who follows it to the timeline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from ascend_sn._native.intervals import gaps, intersect, union
from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.finding import Location, SliceRow, Topic
from ascend_sn.advisor.rule import Claim, Slices
from ascend_sn.analysis.activity import COMPUTE, activities
from ascend_sn.analysis.host.host_calls import classify_calls
from ascend_sn.model.kinds import COMPUTE_KINDS

__all__ = ["located"]

FREE_TABLE: Final = "overlap"
"""Stands in the place of a table for stretches of a device's activity."""

_KEYS: Final = {
    "kernel": "kernel_id", "collective": "collective_id", "operator": "operator_id", "host_call": "host_call_id",
    "span": "span_id", "step": "step_id",
}  # fmt: skip

_LONGEST: Final = 1_000
"""So many rows are looked at closely; a table may hold 100 million."""

_BY_NAME: Final = {
    "kernel": "op_type in (select unnest($names)) or name in (select unnest($names))",
    "launched": """
        (profile_id, operator_id) in
            (select profile_id, operator_id from operator where name in (select unnest($names)))
    """,
    "collective": "op in (select unnest($names)) or name in (select unnest($names))",
    "operator": "name in (select unnest($names)) or module in (select unnest($names))",
    "host_call": "name in (select unnest($names))",
    "span": "name in (select unnest($names))",
}
_COMPUTE_FIRST: Final = ("kernel", "launched", "operator", "host_call", "span", "collective")
_HOST_FIRST: Final = ("host_call", "operator", "span", "kernel", "collective")
_COMMUNICATION_FIRST: Final = ("collective", "kernel", "operator", "host_call", "span")
_TABLES: Final[dict[Topic, tuple[str, ...]]] = {
    "communication": _COMMUNICATION_FIRST,
    "compute": _COMPUTE_FIRST,
    "host": _HOST_FIRST,
    "data": _HOST_FIRST,
    "memory": ("operator", "host_call", "span", "kernel"),
    "collection": _HOST_FIRST,
}
_OF_TOPIC: Final[dict[Topic, tuple[Slices, ...]]] = {
    "communication": (Slices("collective"), Slices("kernel", "kind = 'communication'")),
    "compute": (Slices("kernel", f"kind in {COMPUTE_KINDS}"),),
    "host": (Slices(FREE_TABLE),),
    "data": (Slices("operator", "phase = 'data'"),),
    "memory": (),
    "collection": (),
}
"""Where neither the claim nor its names say; the last resort is the longest step."""


class _Candidate(msgspec.Struct):
    profile_id: int
    key: int
    ts_ns: int
    dur_ns: int
    in_step: bool


def located(facts: Facts, topic: Topic, claim: Claim) -> Location:
    """Return the location of a claim with its costliest slice; without one where nothing is drawn that it is about."""
    location = claim.location
    if location.slice is not None or (topic == "collection" and not location.profile_ids):
        return location
    found = next(_candidates(facts, topic, claim), None)
    return location if found is None else msgspec.structs.replace(location, slice=found)


def _candidates(facts: Facts, topic: Topic, claim: Claim) -> Iterator[SliceRow]:
    """The costliest slice by each way to find one, the most exact way first."""
    profiles = _profiles(facts, claim.location)
    yield from _timed(facts, profiles, claim)
    if claim.slices is not None:
        yield from _costliest(facts, profiles, claim.location, claim.slices)
    else:
        for how in _TABLES[topic] if claim.location.names else ():
            table = "kernel" if how == "launched" else how
            yield from _costliest(facts, profiles, claim.location, Slices(table, _BY_NAME[how], claim.location.names))
        for slices in _OF_TOPIC[topic]:
            yield from _costliest(facts, profiles, claim.location, slices)
    yield from _costliest(facts, profiles, claim.location, Slices("step"))


def _profiles(facts: Facts, location: Location) -> list[int]:
    if location.profile_ids:
        return list(location.profile_ids)
    rows = [row for row in facts.profiles if not location.ranks or row["rank"] in location.ranks]
    return [int(row["profile_id"]) for row in rows]


def _timed(facts: Facts, profiles: Sequence[int], claim: Claim) -> Iterator[SliceRow]:
    """The slice whose time a figure states."""
    times = [one for one in claim.evidence if one.start_ns is not None and one.end_ns is not None]
    for one in times[:1]:
        for table in ("kernel", "collective", "operator", "host_call", "span"):
            exactly = f"ts_ns = {one.start_ns} and ts_ns + dur_ns = {one.end_ns}"
            yield from _costliest(facts, profiles, Location(), Slices(table, exactly))


def _costliest(facts: Facts, profiles: Sequence[int], location: Location, slices: Slices) -> Iterator[SliceRow]:
    """The longest slice, of collectives the one longest exposed; within the steps before what lies beside them."""
    if slices.table == FREE_TABLE:
        yield from _longest_free(facts, profiles)
        return
    if not facts.has_rows(slices.table):
        return
    condition = slices.condition
    parameters: dict[str, object] = {"profiles": list(profiles), "steps": list(location.steps)}
    if "$names" in condition:
        parameters["names"] = list(slices.names)
    if slices.table == "collective" and location.group_id is not None:
        condition = f"({condition}) and group_id = $group"
        parameters["group"] = location.group_id
    if "{calls}" in condition:
        condition = condition.format(calls=classify_calls(facts.run.db))
    rows = facts.table_rows(
        _ROWS.format(table=slices.table, key=_KEYS[slices.table], condition=condition, longest=_LONGEST),
        _Candidate,
        **parameters,
    )
    if rows:
        costs = _exposed(facts, rows) if slices.table == "collective" else [row.dur_ns for row in rows]
        _, best = max(zip(costs, rows, strict=True), key=lambda one: (one[1].in_step, one[0], -one[1].ts_ns))
        yield SliceRow(slices.table, best.profile_id, str(best.key))


def _exposed(facts: Facts, rows: Sequence[_Candidate]) -> list[int]:
    """How long each call ran with no compute beside it."""
    computing = {one.profile_id: union(*one.of_kind(COMPUTE)) for one in activities(facts.run.db)}
    found = []
    for row in rows:
        start, end = computing.get(row.profile_id, (np.empty(0, np.int64), np.empty(0, np.int64)))
        overlapped = np.minimum(end, row.ts_ns + row.dur_ns) - np.maximum(start, row.ts_ns)
        found.append(row.dur_ns - int(overlapped[overlapped > 0].sum()))
    return found


def _longest_free(facts: Facts, profiles: Sequence[int]) -> Iterator[SliceRow]:
    """The longest stretch of the windows in which a device did nothing."""
    longest: tuple[int, SliceRow] | None = None
    for own in activities(facts.run.db):
        if own.profile_id not in profiles or not len(own.windows):
            continue
        windows = union(own.windows.start, own.windows.end)
        if not len(windows[0]):
            continue
        idle = gaps(own.start, own.end, int(windows[0][0]), int(windows[1][-1]))
        start, end = intersect(*idle, *windows)
        if len(start):
            at = int(np.argmax(end - start))
            length = int(end[at] - start[at])
            if longest is None or length > longest[0]:
                longest = length, SliceRow(FREE_TABLE, own.profile_id, str(int(start[at])))
    if longest is not None:
        yield longest[1]


_ROWS: Final = """
    with longest as (
        select profile_id, {key}::bigint as key, ts_ns, dur_ns
        from {table}
        where profile_id in (select unnest($profiles::integer[])) and ts_ns is not null and dur_ns >= 0
              and ({condition})
        order by dur_ns desc, profile_id, ts_ns
        limit {longest}
    )
    select profile_id, key, ts_ns, dur_ns,
           exists (
               select 1
               from step
               where step.profile_id = longest.profile_id and origin <> 'inferred'
                     and longest.ts_ns >= step.ts_ns and longest.ts_ns < step.ts_ns + step.dur_ns
                     and (len($steps::bigint[]) = 0 or step.step in (select unnest($steps::bigint[])))
           ) as in_step
    from longest
    order by dur_ns desc, profile_id, ts_ns, key
"""
