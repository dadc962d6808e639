"""A21: memory that is reserved and not used: fragments of the pool, and what nobody accounts for."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import intersect, subtract, union
from ascend_sn.analysis.memory.memory_curves import ENDS
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed

__all__ = ["ANALYSIS", "fragmentation"]

WHOLE_PROCESS: Final = "APP"
"""Component that stands for all device memory of the process."""

POOLS: Final = ("PTA+GE", "PTA")
"""Components that the framework accounts for, the most complete first."""

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "component": "varchar",
    "ts_ns": "bigint",
    "reserved_bytes": "bigint",
    "allocated_bytes": "bigint",
    "unused_bytes": "bigint",
    "fragmentation_ratio": "double",
    "oom_count": "bigint",
    "failed_bytes": "bigint",
    "largest_free_bytes": "bigint",
    "free_bytes": "bigint",
    "unaccounted_bytes": "bigint",
    "rounding_bytes": "bigint",
}


def fragmentation(db: DuckDBPyConnection) -> Result:
    """Hold reserved against allocated memory at the peak of the reserved memory.

    Of all moments with the most reserved, the one with the most allocated counts. A single sample of a device with
    events is no curve: its events count. At the first failed request, the free
    blocks are what no live allocation covers of the live segments; they are known where addresses and segments were
    recorded from the start.

    Args:
        db: A connection with the tables `memory_sample`, `memory_event` and `memory_block`.

    Returns:
        One row per component (or device, from events that carry totals) with both curves: profile_id, rank,
        component, ts_ns (that moment), reserved_bytes and allocated_bytes (each: at that moment), unused_bytes
        = reserved_bytes - allocated_bytes, fragmentation_ratio = unused_bytes / reserved_bytes, oom_count
        (failed requests), failed_bytes (the first of them), largest_free_bytes and free_bytes (each: of the
        blocks free then, null where not known), unaccounted_bytes (peak of the whole process less that of the
        framework's pools, on the row of the pools; null where the process was not recorded), rounding_bytes
        (what the blocks in use are longer than was asked for, when the memory snapshot was taken; null where a block
        does not tell); by profile and reserved_bytes.
    """
    found = db.execute(f"""
        with {ENDS},
        sampled as (
            select profile_id, rank, component, ts_ns, reserved_bytes, allocated_bytes
            from memory_sample
            where reserved_bytes > 0 and allocated_bytes is not null
              and (profile_id, component) not in (select (profile_id, component) from ends)
        ),
        levels as (
            select * from sampled
            union all
            select profile_id, rank, coalesce(device, 'device'), ts_ns, reserved_bytes, allocated_bytes
            from memory_event
            where reserved_bytes > 0 and allocated_bytes is not null
              and (profile_id not in (select profile_id from sampled)
                   or (profile_id, coalesce(device, 'device')) in (select (profile_id, component) from ends))
        )
        select profile_id, any_value(rank), component,
               arg_max(ts_ns, (reserved_bytes, allocated_bytes, -ts_ns)),
               max(reserved_bytes), arg_max(allocated_bytes, (reserved_bytes, allocated_bytes, -ts_ns))
        from levels
        group by profile_id, component
        order by profile_id, max(reserved_bytes) desc, component
    """).fetchall()
    whole = dict(
        db.execute(
            "select profile_id, max(reserved_bytes) from memory_sample where component = $app group by profile_id",
            {"app": WHOLE_PROCESS},
        ).fetchall()
    )
    pools: dict[int, tuple[str, int]] = {}
    for profile_id, _, component, _, reserved, _ in found:
        if component in POOLS and (profile_id not in pools or component == POOLS[0]):
            pools[profile_id] = (component, reserved)
    failures = _failures(db)
    rounding = {
        (profile_id, device): size
        for profile_id, device, size in db.execute("""
            select profile_id, device, sum(size_bytes - requested_bytes)::bigint
            from memory_block
            group by profile_id, device
            having count(*) = count(requested_bytes)
        """).fetchall()
    }
    rows = []
    for profile_id, rank, component, ts_ns, reserved, allocated in found:
        failure = failures.get((profile_id, component)) or failures.get((profile_id, None)) or {}
        pool = pools.get(profile_id)
        rows.append(
            {
                "profile_id": profile_id,
                "rank": rank,
                "component": component,
                "ts_ns": ts_ns,
                "reserved_bytes": reserved,
                "allocated_bytes": allocated,
                "unused_bytes": reserved - allocated,
                "fragmentation_ratio": (reserved - allocated) / reserved,
                "oom_count": failure.get("oom_count", 0),
                "failed_bytes": failure.get("failed_bytes"),
                "largest_free_bytes": failure.get("largest_free_bytes"),
                "free_bytes": failure.get("free_bytes"),
                "unaccounted_bytes": whole[profile_id] - pool[1]
                if pool is not None and pool[0] == component and profile_id in whole
                else None,
                "rounding_bytes": rounding.get((profile_id, component)),
            }
        )
    return listed(db, rows, _TYPES)


def _failures(db: DuckDBPyConnection) -> dict[tuple[int, str | None], dict[str, Any]]:
    """The first failed request of each profile and device, and the blocks that were free then."""
    found: dict[tuple[int, str | None], dict[str, Any]] = {}
    for profile_id, device, count, ts_ns, size in db.execute("""
        select profile_id, device, count(*), min(ts_ns), arg_min(size_bytes, ts_ns)
        from memory_event
        where kind = 'oom'
        group by profile_id, device
    """).fetchall():
        found[profile_id, device] = {
            "oom_count": count,
            "failed_bytes": size,
            **_free_blocks(db, profile_id, device, ts_ns),
        }
    return found


def _free_blocks(db: DuckDBPyConnection, profile_id: int, device: str | None, until_ns: int) -> dict[str, int]:
    rows = db.execute(
        """
        select kind, try_cast(address as hugeint)::bigint, size_bytes
        from memory_event
        where profile_id = $profile and device is not distinct from $device and ts_ns < $until
          and kind in ('alloc', 'free', 'segment_alloc', 'segment_free') and address is not null
        order by ts_ns, kind desc
        """,
        {"profile": profile_id, "device": device, "until": until_ns},
    ).fetchall()
    segments: dict[int, int] = {}
    blocks: dict[int, int] = {}
    for kind, address, size in rows:
        if address is None:
            return {}
        live = segments if kind.startswith("segment") else blocks
        if kind in ("alloc", "segment_alloc"):
            live[address] = size
        else:
            live.pop(address, None)
    if not segments:
        return {}
    start, size = (np.array(column, np.int64) for column in zip(*sorted(segments.items()), strict=True))
    taken = np.array(sorted(blocks.items()), np.int64).reshape(-1, 2)
    free = subtract(*union(start, start + size), *union(taken[:, 0], taken[:, 0] + taken[:, 1]))
    lengths = np.subtract(*intersect(*free, start, start + size)[::-1])
    return {"largest_free_bytes": int(lengths.max(initial=0)), "free_bytes": int(lengths.sum())}


ANALYSIS = Analysis(
    code="A21",
    name="fragmentation",
    title="Reserved and unused memory",
    per_profile=fragmentation,
    needs=(Need("memory_sample", "reserved_bytes", alternatives=("memory_event.reserved_bytes",)),),
)
