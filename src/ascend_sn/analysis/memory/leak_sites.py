"""A22 by call site: whose blocks outlive their step, step after step."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.activity import grouped
from ascend_sn.analysis.memory.floor_trend import WARM_UP_AT_LEAST, WARM_UP_RATIO
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.analysis.trend import theil_sen
from ascend_sn.model.rows import Int64

__all__ = ["ANALYSIS", "leak_sites"]

SURVIVES_STEPS: Final = 2
"""A block survives when it is still there at the end of the second step after the one that allocated it."""

RISES_RATIO: Final = 0.8
"""Share of the steps in which the surviving blocks of a site must become more."""

STEPS_AT_LEAST: Final = 5
"""Steps in which survivors can be counted, warm-up left out."""

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "site": "varchar",
    "operator_name": "varchar",
    "stack_id": "bigint",
    "device": "varchar",
    "steps": "bigint",
    "surviving_count": "bigint",
    "surviving_bytes": "bigint",
    "rising_ratio": "double",
    "count_per_step": "double",
    "bytes_per_step": "double",
    "is_leak": "boolean",
}


def leak_sites(db: DuckDBPyConnection) -> Result:
    """Count, per call site, the blocks that are alive two steps after the one that allocated them.

    A site is a call stack where one was recorded, else the operator. A free belongs to the latest allocation of its
    address. It leaks when its surviving blocks become more in at least 80 % of the steps (the first three, or 10 %,
    left out) and the slope is above 0: what is allocated once, or replaced, does not.

    Args:
        db: A connection with the tables `memory_event`, `operator`, `stack`, `step`.

    Returns:
        One row per site with survivors: profile_id, rank, site (innermost frame, else the operator's name),
        operator_name, stack_id, device, steps (in which survivors can be counted), surviving_count and
        surviving_bytes (each: at the end), rising_ratio (share of those steps with more survivors than before),
        count_per_step and bytes_per_step (each: mean survivors of a step), is_leak; by profile, is_leak and
        bytes_per_step.
    """
    blocks = db.execute("""
        with events as (
            select profile_id, rank, kind, size_bytes, coalesce(device, 'device') as device, ts_ns,
                   operator_id, operator_name, stack_id,
                   lead(kind) over block as next_kind, lead(ts_ns) over block as next_ns
            from memory_event
            where kind in ('alloc', 'free') and address is not null
            window block as (partition by profile_id, device, address order by ts_ns, kind desc)
        )
        select events.profile_id, events.rank, device,
               coalesce(events.operator_name, operator.name, 'unknown') as operator_name,
               coalesce(events.stack_id, operator.stack_id)             as stack_id,
               size_bytes, events.ts_ns,
               case when next_kind = 'free' then next_ns end            as freed_ns
        from events
        left join (select profile_id, operator_id, name, stack_id from operator) operator using (profile_id,
        operator_id) where kind = 'alloc' and events.profile_id in (select profile_id from step) order by
        events.profile_id, device, operator_name, stack_id, events.ts_ns, size_bytes
    """).fetchnumpy()
    steps = db.execute("""
        select profile_id, ts_ns as start_ns, ts_ns + dur_ns as end_ns
        from step
        order by profile_id, ts_ns
    """).fetchnumpy()
    frames = {
        (profile_id, stack_id): text
        for profile_id, stack_id, text in db.execute("""
            select distinct stack.profile_id, stack.stack_id, split_part(frames, chr(10), 1)
            from stack
        """).fetchall()
    }
    step_parts = grouped(steps["profile_id"])
    rows: list[dict[str, Any]] = []
    for profile_id, part in grouped(blocks["profile_id"]).items():
        of_profile = {name: column[part] for name, column in blocks.items()}
        edges = np.asarray(steps["start_ns"][step_parts[profile_id]], np.int64)
        last_end = int(np.asarray(steps["end_ns"][step_parts[profile_id]]).max())
        rows.extend(_sites(profile_id, of_profile, np.append(edges, last_end), frames))
    rows.sort(key=lambda row: (row["profile_id"], not row["is_leak"], -row["bytes_per_step"], row["operator_name"],
                               -1 if row["stack_id"] is None else row["stack_id"], row["device"]))  # fmt: skip
    return listed(db, rows, _TYPES)


def _sites(
    profile_id: int, blocks: dict[str, Any], edges: Int64, frames: dict[tuple[int, int], str]
) -> list[dict[str, Any]]:
    count = len(edges) - 1
    warm_up = max(WARM_UP_AT_LEAST, round(WARM_UP_RATIO * count))
    counted = count - SURVIVES_STEPS - warm_up
    if counted < STEPS_AT_LEAST:
        return []
    born = np.searchsorted(edges, np.asarray(blocks["ts_ns"], np.int64), side="right") - 1
    never = np.ma.getmaskarray(blocks["freed_ns"])
    freed = np.searchsorted(edges, np.ma.getdata(blocks["freed_ns"]).astype(np.int64), side="right") - 1
    died = np.where(never, count + SURVIVES_STEPS + 1, freed)
    survives = (born >= 0) & (born < count) & (died > born + SURVIVES_STEPS)
    stack = np.ma.filled(np.ma.asarray(blocks["stack_id"]), -1).astype(np.int64)
    keys = list(zip(np.asarray(blocks["device"]), np.asarray(blocks["operator_name"]), stack.tolist(), strict=True))
    numbers: dict[tuple[str, str, int], int] = {}
    site = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
    rows = []
    for key, number in numbers.items():
        chosen = survives & (site == number)
        if bool(chosen.any()):
            size = np.asarray(blocks["size_bytes"], np.int64)[chosen]
            described = _described(born[chosen], died[chosen], size, count, warm_up)
            if described is not None:
                rank = blocks["rank"][0]
                rows.append(
                    {
                        "profile_id": profile_id,
                        "rank": None if rank is np.ma.masked else int(rank),
                        "site": frames.get((profile_id, key[2]), key[1]),
                        "operator_name": key[1],
                        "stack_id": None if key[2] < 0 else key[2],
                        "device": key[0],
                        **described,
                    }
                )
    return rows


def _described(
    born: Int64, died: Int64, size: npt.NDArray[np.int64], count: int, warm_up: int
) -> dict[str, Any] | None:
    """Follow the survivors: each counts from the second step after its own to the step before it is freed."""
    change = np.zeros(count + 1, np.int64)
    settled = born + SURVIVES_STEPS
    np.add.at(change, settled[settled <= count], 1)
    np.add.at(change, died[died <= count], -1)
    alive = np.cumsum(change)[warm_up + SURVIVES_STEPS : count]
    before = np.cumsum(change)[warm_up + SURVIVES_STEPS - 1 : count - 1]
    fresh = (born >= warm_up) & (born < count - SURVIVES_STEPS)
    steps = len(alive)
    line = theil_sen(np.arange(steps), alive)
    rising = float((alive > before).mean())
    at_end = died > count - 1
    if not bool(at_end.any()):
        return None
    return {
        "steps": steps,
        "surviving_count": int(at_end.sum()),
        "surviving_bytes": int(size[at_end].sum()),
        "rising_ratio": rising,
        "count_per_step": int(fresh.sum()) / steps,
        "bytes_per_step": int(size[fresh].sum()) / steps,
        "is_leak": rising >= RISES_RATIO and line is not None and line.slope > 0,
    }


ANALYSIS = Analysis(
    code="A22",
    name="leak_sites",
    title="Call sites whose memory stays",
    per_profile=leak_sites,
    needs=(Need("step"), Need("memory_event", "address")),
)
