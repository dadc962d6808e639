"""Steps with collectives of known size, transit and wait, written row by row."""

from __future__ import annotations

from typing import Any

from duckdb import DuckDBPyConnection

from tests.timeline import empty_tables, insert, together

__all__ = ["MIB", "MS", "add_links", "job"]

MS = 1_000_000
MIB = 1 << 20


def job(
    calls: list[dict[str, Any]], *, ranks: int = 1, steps: int = 6, step_ns: int = 100 * MS, device: str = "Ascend910B2"
) -> DuckDBPyConnection:
    """Each step of each rank: backward compute for its first half, then the calls one after another on stream 2.

    A call is a dict of columns of `collective`; `transit_ns` is how long it moves bytes, `wait_ns` how long it waits
    before (by rank and step if it is a function), and it takes both together. The rest of the step computes.
    """
    db = empty_tables()
    with together(db):
        for rank in range(ranks):
            at = {"profile_id": rank, "rank": rank}
            insert(db, "profile", **at, device_kind="npu", device_name=device, host="node-a", format="drawn",
                   source=f"r{rank}")  # fmt: skip
            insert(db, "comm_group_member", **at, group_id="g", group_rank=rank, group_size=ranks, size_is_exact=True,
                   member_rank=rank)  # fmt: skip
            insert(db, "operator", **at, operator_id=0, thread="main", name="backward", ts_ns=-1, dur_ns=0, self_ns=0,
                   depth=0, phase="backward")  # fmt: skip
            number = 0
            for step in range(steps):
                begin = step * step_ns
                insert(db, "step", **at, step_id=step, step=step + 10, ts_ns=begin, dur_ns=step_ns, origin="mark")
                now = begin + step_ns // 2
                insert(db, "kernel", **at, kernel_id=3_000 + step, device_id=rank, stream="1", name="MatMul",
                       op_type="MatMul", kind="compute", ts_ns=begin, dur_ns=now - begin, step_id=step,
                       operator_id=0)  # fmt: skip
                for call in calls:
                    given = {"op": "allreduce", "group_id": "g", "size_bytes": 1 << 20, "dtype": "float16", **call}
                    wait = given.get("wait_ns", 0)
                    wait = wait(rank, step) if callable(wait) else wait
                    dur = given["transit_ns"] + wait
                    insert(db, "kernel", **at, kernel_id=number, device_id=rank, stream="2", name=given["op"],
                           kind="communication", ts_ns=now, dur_ns=dur, step_id=step)  # fmt: skip
                    insert(db, "collective", **at, collective_id=number, kernel_id=number, name="c", sequence=number,
                           ts_ns=now, dur_ns=dur, idle_ns=0, method="recorded",
                           **{**given, "wait_ns": wait, "sync_ns": wait})  # fmt: skip
                    number += 1
                    now += dur
                insert(
                    db,
                    "kernel",
                    **at,
                    kernel_id=4_000 + step,
                    device_id=rank,
                    stream="1",
                    name="Adam",
                    op_type="Adam",
                    kind="compute",
                    ts_ns=now,
                    dur_ns=begin + step_ns - now,
                    step_id=step,
                )
    return db


def add_links(
    db: DuckDBPyConnection, speeds: dict[tuple[int, int], float], *, transport: str = "HCCS", steps: int = 1
) -> None:
    """Insert the traffic of pairs, each 100 MB in every step, at some GB/s."""
    with together(db):
        for step in range(steps):
            for (src, dst), speed in speeds.items():
                insert(db, "link", profile_id=0, rank=0, group_id="g", step=step + 10, src_rank=src, dst_rank=dst,
                       rank_scope="global", transport=transport, size_bytes=100_000_000,
                       dur_ns=round(100_000_000 / speed))  # fmt: skip
