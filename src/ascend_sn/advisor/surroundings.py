"""What is known of the host and the input pipeline around a captured process, as logged by the program or recorder."""

from __future__ import annotations

import msgspec

from ascend_sn.advisor.facts import Facts, asked_once
from ascend_sn.model.trace_schema import CORES_METRIC, HOST_MEMORY_METRIC, SHARED_MEMORY_METRIC, WORKERS_METRIC

__all__ = ["Surroundings", "surroundings"]


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about one profile; absent: not known.

    Attributes:
        profile_id: The profile.
        workers: Worker processes of its data loader: logged, or 0 where only a loader without workers was seen.
        has_workers: Whether a loader with worker processes is at work; absent: neither logged nor seen.
        cores: Cores for this process: logged, divided by the captured ranks of its host.
        host_memory_bytes: Memory of the host that was left at least.
        shared_memory_bytes: Shared memory that was left at least.
    """

    profile_id: int
    workers: int | None = None
    has_workers: bool | None = None
    cores: int | None = None
    host_memory_bytes: int | None = None
    shared_memory_bytes: int | None = None


@asked_once
def surroundings(facts: Facts) -> dict[int, Surroundings]:
    """Return what is known about every profile, by profile_id."""
    rows = facts.table_rows(
        """
        with logged as (
            select profile_id,
                   max(value) filter (where name = $workers)::bigint       as workers,
                   min(value) filter (where name = $cores)::bigint         as cores,
                   min(value) filter (where name = $host_memory)::bigint   as host_memory_bytes,
                   min(value) filter (where name = $shared_memory)::bigint as shared_memory_bytes
            from metric
            where name in ($workers, $cores, $host_memory, $shared_memory) and value between 0 and 1e18
            group by profile_id
        ),
        seen as (
            select profile_id, bool_or(name like '%MultiProcessingDataLoader%') as has_workers
            from operator
            where name like '%MultiProcessingDataLoader%' or name like '%SingleProcessDataLoader%'
            group by profile_id
        ),
        neighbours as (
            select profile_id, count(*) over (partition by host) as ranks
            from profile
        )
        select profile_id,
               coalesce(logged.workers, case when not seen.has_workers then 0 end) as workers,
               coalesce(logged.workers > 0, seen.has_workers)                       as has_workers,
               case when logged.cores > 0 then greatest(logged.cores // ranks, 1) end       as cores,
               host_memory_bytes, shared_memory_bytes
        from profile
        left join logged using (profile_id)
        left join seen using (profile_id)
        left join neighbours using (profile_id)
        """,
        Surroundings,
        workers=WORKERS_METRIC,
        cores=CORES_METRIC,
        host_memory=HOST_MEMORY_METRIC,
        shared_memory=SHARED_MEMORY_METRIC,
    )
    return {row.profile_id: row for row in rows}
