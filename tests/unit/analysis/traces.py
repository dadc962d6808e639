"""Rows for tests: written down one by one, or drawn at random to check laws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from typing import Any

from duckdb import DuckDBPyConnection
from hypothesis import strategies as st

from ascend_sn.analysis.registry import Analysis, evaluate
from ascend_sn.analysis.relations import Result
from tests.timeline import empty_tables, insert, insert_all, together
from tests.unit.analysis.rows import rows as rows_of

Row = tuple[str, dict[str, Any]]
Relational = Callable[[DuckDBPyConnection], Result]

_NUMBERED = ("step", "operator", "host_call", "kernel", "collective", "span")


def database(rows: Sequence[Row]) -> DuckDBPyConnection:
    """Return a connection with the rows in their tables; profiles that are named get a row of `profile`."""
    db = empty_tables()
    given = {values.get("profile_id", 0) for table, values in rows if table == "profile"}
    named = {values.get("profile_id", 0) for _, values in rows}
    with together(db):
        for profile_id in sorted(named - given):
            insert(db, "profile", profile_id=profile_id, rank=profile_id, device_kind="npu")
    by_table: dict[str, list[dict[str, Any]]] = {}
    for table, values in rows:
        by_table.setdefault(table, []).append({"profile_id": 0, "rank": values.get("profile_id", 0), **values})
    for table, given_rows in by_table.items():
        insert_all(db, table, given_rows)
    return db


def numbered(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with ids where they have none: dense from 0 per profile and table, in their order."""
    counts: dict[tuple[int, str], int] = {}
    complete = []
    for table, values in rows:
        key = (values.get("profile_id", 0), table)
        if table in _NUMBERED and f"{table}_id" not in values:
            values = {f"{table}_id": counts.get(key, 0), **values}
        counts[key] = counts.get(key, 0) + 1
        complete.append((table, values))
    return complete


def dicts(result: Result) -> list[dict[str, Any]]:
    """Return the rows of a result by column name."""
    return rows_of(result)


def results(function: Relational | Analysis, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Run an analysis on rows."""
    db = database(rows)
    return dicts(evaluate(function, db) if isinstance(function, Analysis) else function(db))


def step(ts_ns: int, dur_ns: int, number: int = 1, **more: Any) -> Row:
    """A marked step."""
    return ("step", {"step": number, "ts_ns": ts_ns, "dur_ns": dur_ns, "origin": "mark", **more})


def call(name: str, ts_ns: int, dur_ns: int, **more: Any) -> Row:
    """A host call on the thread `main`."""
    return ("host_call", {"thread": "main", "level": "acl", "name": name, "ts_ns": ts_ns, "dur_ns": dur_ns, **more})


def operator(name: str, ts_ns: int, dur_ns: int, **more: Any) -> Row:
    """A framework operator on the thread `main`."""
    own = {"thread": "main", "name": name, "ts_ns": ts_ns, "dur_ns": dur_ns, "self_ns": dur_ns, "depth": 0}
    return ("operator", {**own, "phase": "other", **more})


def kernel(ts_ns: int, dur_ns: int, name: str = "K", kind: str = "compute", **more: Any) -> Row:
    """A kernel on stream 1 of device 0."""
    own = {"name": name, "op_type": name, "kind": kind, "device_id": 0, "stream": "1", "ts_ns": ts_ns, "dur_ns": dur_ns}
    return ("kernel", {**own, **more})


def collective(ts_ns: int, dur_ns: int, op: str = "allreduce", **more: Any) -> Row:
    """A collective of the group `g`."""
    return ("collective", {"op": op, "name": op, "group_id": "g", "ts_ns": ts_ns, "dur_ns": dur_ns, **more})


def ht1() -> list[Row]:
    """Hand trace 1: data, two launches, a pause, two launches, a wait; A to D and an all-reduce R; step [0, 100)."""
    return numbered(
        [
            step(0, 100, 7),
            operator("load", 0, 30, phase="data"),
            call("launch", 30, 2),
            call("launch", 32, 2),
            call("launch", 50, 2),
            call("launch", 52, 2),
            call("aclrtSynchronizeStream", 54, 46),
            kernel(35, 20, "A", host_call_id=0, step_id=0),
            kernel(55, 5, "B", host_call_id=1, step_id=0),
            kernel(60, 10, "C", host_call_id=2, step_id=0),
            kernel(95, 5, "D", host_call_id=3, step_id=0),
            kernel(70, 25, "R", "communication", stream="2", step_id=0),
            collective(70, 25, kernel_id=4),
        ]
    )


def check_laws(function: Relational | Analysis, profiles: Sequence[Sequence[Row]], seed: int = 0) -> None:
    """Check what holds for every analysis without a combining part.

    The order of rows does not matter, profiles apart and together give the same, and no rows give no rows.
    """
    rows = [row for part in profiles for row in part]
    together = results(function, rows)
    shuffled = list(rows)
    Random(seed).shuffle(shuffled)

    assert results(function, shuffled) == together
    assert [row for part in profiles for row in results(function, part)] == together
    assert results(function, []) == []


_KINDS = ("compute", "compute", "compute", "communication", "copy", "fused")


@st.composite
def captures(draw: st.DrawFn, profile_id: int = 0) -> list[Row]:
    """A small capture: steps side by side, launches with and without operators, kernels in order on two streams."""
    length = draw(st.integers(20, 60))
    cuts = sorted(draw(st.sets(st.integers(1, length - 1), max_size=2)))
    edges = [0, *cuts, length]
    rows: list[Row] = []
    if draw(st.booleans()):
        rows += [step(low, high - low, at) for at, (low, high) in enumerate(pairwise(edges))]
    moments = {"1": 0, "2": 0}
    for _ in range(draw(st.integers(1, 8))):
        stream = draw(st.sampled_from(("1", "2")))
        start = moments[stream] + draw(st.integers(0, 8))
        moments[stream] = start + draw(st.integers(1, 8))
        link = draw(st.sampled_from(("none", "call", "operator", "both")))
        asked = max(start - draw(st.integers(0, 6)), 0)
        linked: dict[str, Any] = {}
        if link in ("call", "both"):
            linked["host_call_id"] = sum(table == "host_call" for table, _ in rows)
            rows.append(call(draw(st.sampled_from(("launch", "aclrtMalloc", "opCompile"))), asked, 2))
        name = draw(st.sampled_from("ABC"))
        if link in ("operator", "both"):
            linked["operator_id"] = sum(table == "operator" for table, _ in rows)
            phase = draw(st.sampled_from(("forward", "backward", "other", "data")))
            rows.append(operator(f"aten::{name}", max(asked - 1, 0), 3, phase=phase))
        core = draw(st.sampled_from(("AI_CORE", "AI_CPU")))
        kind = draw(st.sampled_from(_KINDS))
        rows.append(kernel(start, moments[stream] - start, name, kind, stream=stream, core_type=core, **linked))
    return numbered([(table, {"profile_id": profile_id, **values}) for table, values in rows])
