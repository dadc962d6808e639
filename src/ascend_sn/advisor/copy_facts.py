"""Copies between host and device by direction, and which of them the host has to wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from ascend_sn.advisor.facts import Facts

__all__ = ["Copies", "copies_by_direction"]


class Copies(msgspec.Struct, kw_only=True):
    """The copies of one profile in one direction.

    Attributes:
        profile_id: The profile.
        rank: Its rank.
        direction: h2d, d2h, d2d, h2h, or `unknown`.
        calls: Copies.
        total_ns: Their summed time.
        exposed_ns: Time in which one runs beside neither compute nor communication, within the steps.
        overlapped_ns: The rest of their time there.
        window_ns: All steps, or the whole capture.
        size_bytes: Bytes, absent where none were recorded.
        bandwidth_bytes_per_s: Bytes over time.
        pageable_ratio: Share of the time that is known to come from pageable memory.
        pinned_ratio: Share that is known to come from page-locked memory.
        sync_ratio: Share whose call is known to return only when the copy is done.
        step_count: Marked steps; 1 for a whole capture.
    """

    profile_id: int
    rank: int | None
    direction: str
    calls: int
    total_ns: int
    exposed_ns: int
    overlapped_ns: int
    window_ns: int
    size_bytes: int | None
    bandwidth_bytes_per_s: float | None
    pageable_ratio: float
    pinned_ratio: float
    sync_ratio: float
    step_count: int

    @property
    def exposed_ratio(self) -> float:
        """Exposed time as a share of the steps."""
        return self.exposed_ns / self.window_ns if self.window_ns else 0.0

    @property
    def is_slow(self) -> bool:
        """Whether most of them are known to be pageable or synchronous."""
        return max(self.pageable_ratio, self.sync_ratio) > 1 / 2

    def per_step(self, value: float) -> int:
        """Return the share of one step."""
        return round(value / self.step_count)


def copies_by_direction(facts: Facts, from_ratio: float) -> list[Copies]:
    """Return the copies of each profile by direction, those with most exposed time first.

    Args:
        facts: The analysis results.
        from_ratio: Least share of the steps in which they run.
    """
    groups: dict[tuple[int, str], list[_Row]] = {}
    for row in facts.rows("copies", _Row):
        groups.setdefault((row.profile_id, row.direction or UNKNOWN), []).append(row)
    large = {
        key: rows
        for key, rows in groups.items()
        if sum(row.exposed_ns + row.overlapped_ns for row in rows) >= from_ratio * rows[0].window_ns > 0
    }
    if not large:
        return []
    calls = {(row.profile_id, row.direction): row for row in facts.table_rows(_CALLS, _Calls)}
    steps = dict(facts.run.db.execute(_STEPS).fetchall())
    found = [
        _together(rows, direction, calls.get((profile_id, direction)), steps.get(profile_id, 1))
        for (profile_id, direction), rows in large.items()
    ]
    return sorted(found, key=lambda copies: (-copies.exposed_ratio, copies.profile_id, copies.direction))


class _Row(msgspec.Struct, kw_only=True):
    """A row of `copies`."""

    profile_id: int
    rank: int | None
    direction: str | None
    host_memory: str | None
    calls: int
    total_ns: int
    exposed_ns: int
    overlapped_ns: int
    window_ns: int
    size_bytes: int | None
    bandwidth_bytes_per_s: float | None


class _Calls(msgspec.Struct):
    profile_id: int
    direction: str
    sync_ns: int


def _together(rows: list[_Row], direction: str, calls: _Calls | None, step_count: int) -> Copies:
    sized = [row for row in rows if row.size_bytes is not None]
    moving_s = sum((row.size_bytes or 0) / row.bandwidth_bytes_per_s for row in sized if row.bandwidth_bytes_per_s)
    size = sum(row.size_bytes or 0 for row in sized)
    total = sum(row.total_ns for row in rows)

    def share(ns: int) -> float:
        return ns / total if total else 0.0

    return Copies(
        profile_id=rows[0].profile_id,
        rank=rows[0].rank,
        direction=direction,
        calls=sum(row.calls for row in rows),
        total_ns=total,
        exposed_ns=sum(row.exposed_ns for row in rows),
        overlapped_ns=sum(row.overlapped_ns for row in rows),
        window_ns=rows[0].window_ns,
        size_bytes=size if sized else None,
        bandwidth_bytes_per_s=size / moving_s if moving_s else None,
        pageable_ratio=share(sum(row.total_ns for row in rows if row.host_memory == "pageable")),
        pinned_ratio=share(sum(row.total_ns for row in rows if row.host_memory == "pinned")),
        sync_ratio=0.0 if calls is None else share(calls.sync_ns),
        step_count=step_count,
    )


UNKNOWN: Final = "unknown"

_CALLS: Final = """
    select kernel.profile_id, coalesce(copy_direction, 'unknown') as direction, sum(kernel.dur_ns)::bigint as sync_ns
    from kernel
    join host_call using (profile_id, host_call_id)
    where kernel.kind = 'copy' and host_call.name ilike '%memcpy%'
      and host_call.name not ilike '%async%'
    group by all
"""
_STEPS: Final = "select profile_id, count(*) from step where origin <> 'inferred' group by profile_id"
