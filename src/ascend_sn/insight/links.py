"""Which slices belong together: what launched what, arrows of the capture, a collective on all its members."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from ascend_sn.insight.class_lanes import COMPUTING, EXPOSED, EXPOSED_COPY, FREE, OVERLAPPED
from ascend_sn.insight.places import Ref, refs_of_keys, refs_of_rows
from ascend_sn.insight.ranks import ACROSS
from ascend_sn.insight.runs import OpenRun
from ascend_sn.model.kinds import BUSY_KINDS, COMPUTE_KINDS, UNMATCHED
from ascend_sn.model.requests import PHASE_FLOW
from ascend_sn.store.timeline_files import NO_KEY, ProfileMeta
from ascend_sn.store.timeline_lanes import LANES

__all__ = ["Link", "beneath_stretch", "links_of"]

_AT_MOST: Final = 64
"""Links of one kind; a step launches thousands of kernels."""

_MEMBERS: Final = 256

_COLLECTIVES: Final = next(kind for kind in LANES if kind.table == "collective")


class Link(msgspec.Struct, frozen=True):
    """A slice that belongs to another.

    `kind` is `parent` (encloses it), `launch` (launched it), `kernel` (it launched), `collective` (the same collective
    on another rank, or the collective of a kernel or task), `phase` (a part of the request), `request` (what it is a
    part of), `beneath` (what a device was busy with during most of a stretch), `ended_by` (the kernel that ended a free
    stretch), or the kind of an arrow of the capture.
    """

    kind: str
    ref: Ref


def links_of(opened: OpenRun, profile: ProfileMeta, table: str, row: dict[str, Any], key: int) -> list[Link]:
    """Return the links of a row but that to its parent."""
    if not row:
        return []
    found: dict[tuple[str, int, int, int, int], Link] = {}
    for kind, other, profile_id, keys in _ends(opened, profile.profile_id, table, row, key):
        for ref in refs_of_keys(opened, other, profile_id, keys):
            found.setdefault((kind, ref.profile_id, ref.track, ref.depth, ref.slice), Link(kind, ref))
    if table == "collective" and row.get("sequence") is not None and row.get("op") not in UNMATCHED:
        for ref in _members(opened, profile.profile_id, row):
            found.setdefault(("collective", ref.profile_id, ref.track, ref.depth, ref.slice), Link("collective", ref))
    return list(found.values())


def beneath_stretch(opened: OpenRun, profile: ProfileMeta, own: Ref) -> Link | None:
    """Return what a device did during most of a stretch of activity; of a free one, the kernel that ended it."""
    start = own.start + profile.origin_ns
    times = {"profile": profile.profile_id, "start": start, "end": start + own.dur}
    if own.name == FREE:
        at_end = {name: times[name] for name in ("profile", "end")}
        ended = opened.query(_ENDED_BY, at_end, of=profile.profile_id)
        refs = refs_of_keys(opened, "kernel", profile.profile_id, [int(key) for (key,) in ended])
        return Link("ended_by", refs[0]) if refs else None
    for table, kinds in _BENEATH[own.name]:
        rows = opened.query(
            _LONGEST_BENEATH.format(table=table, condition=f"kind in {kinds}" if kinds else "true"),
            times,
            of=profile.profile_id,
        )
        refs = refs_of_keys(opened, table, profile.profile_id, [int(key) for (key,) in rows])
        if refs:
            return Link("beneath", refs[0])
    return None


def _ends(
    opened: OpenRun, profile_id: int, table: str, row: dict[str, Any], key: int
) -> Iterator[tuple[str, str, int, list[int]]]:
    """Kind, table, profile and keys of what a row is linked with."""
    if table == "kernel":
        for other in ("host_call", "operator"):
            if row.get(f"{other}_id") is not None:
                yield "launch", other, profile_id, [int(row[f"{other}_id"])]
        yield (
            "collective",
            "collective",
            profile_id,
            _keys(opened, "collective", "collective_id", "kernel_id", profile_id, key),
        )
    elif table in ("operator", "host_call"):
        yield "kernel", "kernel", profile_id, _keys(opened, "kernel", "kernel_id", f"{table}_id", profile_id, key)
    elif table == "comm_task" and row.get("collective_id") is not None:
        yield "collective", "collective", profile_id, [int(row["collective_id"])]
    elif table == "collective" and row.get("kernel_id") is not None:
        yield "kernel", "kernel", profile_id, [int(row["kernel_id"])]
    if key != NO_KEY and table != "comm_task":
        yield from _arrows(opened, profile_id, table, key)


def _keys(opened: OpenRun, table: str, wanted: str, column: str, profile_id: int, key: int) -> list[int]:
    rows = opened.query(
        f"select {wanted} from {table} where profile_id = $profile and {column} = $key order by ts_ns limit {_AT_MOST}",
        {"profile": profile_id, "key": key},
        of=profile_id,
    )
    return [int(found) for (found,) in rows if found is not None]


def _members(opened: OpenRun, profile_id: int, row: dict[str, Any]) -> Iterator[Ref]:
    """The same call of the same group on the other ranks."""
    rows = opened.query(
        f"""
        select profile_id, group_id, min(collective_id), arg_min(ts_ns, collective_id), arg_min(dur_ns, collective_id)
        from {ACROSS}
        where group_id is not distinct from $group and op is not distinct from $op and sequence = $sequence
          and profile_id <> $profile
        group by profile_id, group_id
        order by profile_id
        limit {_MEMBERS}
        """,
        {"group": row["group_id"], "op": row["op"], "sequence": row["sequence"], "profile": profile_id},
    )
    for member, group, collective, ts_ns, dur_ns in rows:
        if member in opened.profiles and collective is not None:
            yield from refs_of_rows(opened, _COLLECTIVES, int(member), [(None, group, collective, ts_ns, dur_ns)])


def _arrows(opened: OpenRun, profile_id: int, table: str, key: int) -> Iterator[tuple[str, str, int, list[int]]]:
    """The arrows that the capture itself recorded, by their kind and far end."""
    rows = opened.query(
        f"""
        select kind, dst_table, dst_id, true as leaves
        from flow
        where profile_id = $profile and src_table = $table and src_id = $key
        union all
        select kind, src_table, src_id, false
        from flow
        where profile_id = $profile and dst_table = $table and dst_id = $key
        limit {_AT_MOST}
        """,
        {"profile": profile_id, "table": table, "key": key},
        of=profile_id,
    )
    for kind, other, far, leaves in rows:
        if far is None or other is None:
            continue
        said = kind or "launch"
        if said == "launch" and leaves and other == "kernel":
            said = "kernel"
        elif said == PHASE_FLOW and not leaves:
            said = "request"
        yield said, other, profile_id, [int(far)]


_COMMUNICATES: Final = (("collective", ""), ("kernel", "('communication')"))
_BENEATH: Final = {
    COMPUTING: (("kernel", f"{COMPUTE_KINDS}"),),
    EXPOSED: _COMMUNICATES,
    OVERLAPPED: _COMMUNICATES,
    EXPOSED_COPY: (("kernel", "('copy')"),),
}
_LONGEST_BENEATH: Final = """
    select {table}_id
    from {table}
    where profile_id = $profile and ts_ns < $end and ts_ns + dur_ns > $start and {condition}
    order by least(ts_ns + dur_ns, $end) - greatest(ts_ns, $start) desc, dur_ns, ts_ns
    limit 1
"""
_ENDED_BY: Final = f"""
    select kernel_id
    from kernel
    where profile_id = $profile and ts_ns = $end and kind in {BUSY_KINDS}
    order by dur_ns desc
    limit 1
"""
