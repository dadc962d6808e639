"""Copies between host and device by direction, and which of them the host has to wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    def running_ratio(self) -> float:
        """Time with such a copy, exposed or not, as a share of the steps."""
        return (self.exposed_ns + self.overlapped_ns) / self.window_ns if self.window_ns else 0.0

    @property
    def is_slow(self) -> bool:
        """Whether most of them are known to be pageable or synchronous."""
        return max(self.pageable_ratio, self.sync_ratio) > 1 / 2

    def per_step(self, value: float) -> int:
        """Return the share of one step."""
        return round(value / self.step_count)


def copies_by_direction(facts: Facts) -> list[Copies]:
    """Return the copies of each profile by direction, those with most exposed time first."""
    return facts.query(
        "copies",
        """
        with calls as (
            select kernel.profile_id, coalesce(copy_direction, 'unknown') as direction,
                   sum(kernel.dur_ns) filter (where host_call.name is not null and host_call.name not ilike '%async%')
                       as sync_ns
            from kernel
            left join host_call using (profile_id, host_call_id)
            where kernel.kind = 'copy'
            group by all
        ),
        steps as (
            select profile_id, count(*) as steps
            from step
            where origin <> 'inferred'
            group by profile_id
        ),
        summed as (
            select profile_id, any_value(rank) as rank, coalesce(direction, 'unknown') as direction,
                   sum(calls)::bigint         as calls,
                   sum(total_ns)::bigint      as total_ns,
                   sum(exposed_ns)::bigint    as exposed_ns,
                   sum(overlapped_ns)::bigint as overlapped_ns,
                   max(window_ns)             as window_ns,
                   sum(size_bytes)::bigint    as size_bytes,
                   sum(size_bytes) / nullif(sum(size_bytes / bandwidth_bytes_per_s), 0) as bandwidth_bytes_per_s,
                   coalesce(sum(total_ns) filter (where host_memory = 'pageable'), 0) as pageable_ns,
                   coalesce(sum(total_ns) filter (where host_memory = 'pinned'), 0)   as pinned_ns
            from result
            group by profile_id, coalesce(direction, 'unknown')
        )
        select profile_id, rank, direction, calls, total_ns, exposed_ns, overlapped_ns, window_ns, size_bytes,
               bandwidth_bytes_per_s::double                                as bandwidth_bytes_per_s,
               coalesce(pageable_ns / nullif(total_ns, 0), 0)::double       as pageable_ratio,
               coalesce(pinned_ns / nullif(total_ns, 0), 0)::double         as pinned_ratio,
               coalesce(sync_ns / nullif(total_ns, 0), 0)::double           as sync_ratio,
               coalesce(steps, 1)                                           as step_count
        from summed
        left join calls using (profile_id, direction)
        left join steps using (profile_id)
        order by exposed_ns / nullif(window_ns, 0) desc nulls last, profile_id, direction
        """,
        Copies,
    )
