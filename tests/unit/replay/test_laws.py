"""Laws on random steps: two ranks, each with host, two streams and collectives, built so that nothing is violated."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from duckdb import DuckDBPyConnection
from hypothesis import given, settings, strategies as st

from ascend_sn.replay import (
    Bound,
    Candidate,
    Gain,
    Plan,
    Remove,
    Replay,
    Scale,
    SetDur,
    TimeClass,
    Transform,
    Unblock,
    Where,
)
from ascend_sn.replay.edits import Edit
from ascend_sn.replay.engine import Draft
from ascend_sn.replay.prices import replayed_ns
from tests.timeline import empty_tables

SHORT = st.integers(1, 40)
KINDS = st.sampled_from(["compute", "compute", "copy", "collective", "sync", "data"])


@st.composite
def steps(draw: st.DrawFn) -> DuckDBPyConnection:
    """Simulate a step of two ranks and return its tables."""
    work = draw(st.lists(st.tuples(KINDS, SHORT, SHORT, st.integers(0, 2), st.integers(0, 9)), min_size=1, max_size=9))
    ranks = [_Rank(profile, draw(st.integers(0, 20))) for profile in range(draw(st.integers(1, 2)))]
    for kind, host, device, latency, slack in work:
        for rank in ranks:
            rank.issue(kind, host + rank.profile * slack, device, latency, slack)
        if kind == "collective":
            together = max(rank.calls[-1][0] for rank in ranks) + device
            for rank in ranks:
                rank.finish_call(together)
    db = empty_tables()
    for rank in ranks:
        rank.write(db, members=len(ranks))
    return db


class _Rank:
    """One process: a thread that launches, stream 1 for computing, stream 2 for copies and collectives."""

    def __init__(self, profile: int, begin: int) -> None:
        self.profile, self.begin, self.now = profile, begin, begin
        self.free = {"1": begin, "2": begin}
        self.rows: list[tuple[str, dict[str, Any]]] = []
        self.calls: list[tuple[int, int]] = []

    def issue(self, kind: str, host: int, device: int, latency: int, slack: int) -> None:
        start, self.now = self.now, self.now + host
        if kind == "data":
            self.rows.append(("operator", {"name": "data", "phase": "data", "ts_ns": start, "dur_ns": host}))
            return
        if kind == "sync":
            self.now = max(self.now, *self.free.values())
            self.rows.append(
                ("host_call", {"name": "cudaDeviceSynchronize", "ts_ns": start, "dur_ns": self.now - start})
            )
            return
        stream = "1" if kind == "compute" else "2"
        begins = max(self.now + 3 + latency, self.free[stream]) + slack
        self.rows.append(("host_call", {"name": "launch", "ts_ns": start, "dur_ns": host}))
        self.rows.append(
            (
                "kernel",
                {
                    "name": kind,
                    "kind": "communication" if kind == "collective" else kind,
                    "stream": stream,
                    "ts_ns": begins,
                    "dur_ns": device,
                },
            )
        )
        self.free[stream] = begins + device
        if kind == "collective":
            self.calls.append((begins, len(self.rows) - 1))

    def finish_call(self, end: int) -> None:
        begins, row = self.calls[-1]
        self.rows[row][1]["dur_ns"] = end - begins
        self.free["2"] = end

    def write(self, db: DuckDBPyConnection, members: int) -> None:
        rows: dict[str, list[dict[str, Any]]] = {"operator": [], "host_call": [], "kernel": []}
        for table, row in self.rows:
            more: dict[str, Any] = {"thread": "main"}
            if table == "kernel":
                more = {"device_id": 0, "host_call_id": len(rows["host_call"]) - 1, "step_id": 0}
            rows[table].append({f"{table}_id": len(rows[table]), **row, **more})
        calls = [row for row in rows["kernel"] if row["name"] == "collective"]
        rows["collective"] = [
            {
                "collective_id": sequence,
                "kernel_id": call["kernel_id"],
                "op": "allreduce",
                "group_id": "g",
                "sequence": sequence,
                "ts_ns": call["ts_ns"],
                "dur_ns": call["dur_ns"],
            }
            for sequence, call in enumerate(calls)
        ]
        rows["comm_group_member"] = [
            {"group_id": "g", "group_rank": place, "group_size": members, "size_is_exact": True}
            for place in range(members)
        ]
        rows["profile"] = [{"device_kind": "cuda"}]
        rows["step"] = [
            {"step_id": 0, "step": 1, "ts_ns": self.begin, "dur_ns": self.now - self.begin, "origin": "mark"}
        ]
        for table, mine in rows.items():
            insert_all(db, table, [{"profile_id": self.profile, "rank": self.profile, **row} for row in mine])


def insert_all(db: DuckDBPyConnection, table: str, rows: list[dict[str, Any]]) -> None:
    if rows:
        row = f"({', '.join('?' * len(rows[0]))})"
        values = [value for one in rows for value in one.values()]
        db.execute(f"insert into {table} ({', '.join(rows[0])}) values {', '.join([row] * len(rows))}", values)


SHRINKING: list[Edit] = [
    Remove(Where(names=("compute",))),
    Remove(Where(kinds=("copy",))),
    Scale(Where(names=("compute",)), 0.5),
    Scale(Where(part="host"), 0.3),
    SetDur(Where(part="device"), 2),
    Remove(Where(classes=(TimeClass.DATA_LOADING,))),
    Unblock(Where(names=("cudaDeviceSynchronize",))),
    Remove(Where(tables=("none",))),
]
EDITS = st.lists(st.sampled_from(SHRINKING), min_size=1, max_size=3)


def replay_of(db: DuckDBPyConnection) -> Replay:
    found = Replay.of(db)
    assert isinstance(found, Replay)
    return found


@given(steps())
@settings(max_examples=15)
def test_without_violations_the_replay_is_the_capture_node_by_node(db: DuckDBPyConnection) -> None:
    replay = replay_of(db)

    assert replay.violations == 0
    assert replay.base_ns == replay.observed_ns
    assert (replay.timing.start == replay.graph.nodes.start).all()
    assert Draft(replay.graph, guesses=False).timing().makespan_ns == replay.base_ns


@given(steps(), EDITS)
@settings(max_examples=15)
def test_less_work_never_makes_a_step_longer(db: DuckDBPyConnection, edits: list[Edit]) -> None:
    replay = replay_of(db)

    after = [replayed_ns(replay.graph, Bound(tuple(edits[:count]))) for count in range(len(edits) + 1)]

    assert after == sorted(after, reverse=True)
    assert 0 <= after[-1] <= replay.base_ns == after[0]


@given(steps())
@settings(max_examples=10)
def test_classes_of_the_critical_path_sum_to_the_step(db: DuckDBPyConnection) -> None:
    path = replay_of(db).critical_path()

    assert sum(path.class_ns.values()) == path.makespan_ns
    assert all(row.slack_ns >= 0 and row.on_path_ns <= row.total_ns for row in path.operators)
    assert all(row.slack_ns == 0 for row in path.operators if row.on_path_ns)


@given(steps(), EDITS)
@settings(max_examples=10)
def test_gains_of_a_plan_add_up_to_what_the_step_loses(db: DuckDBPyConnection, edits: list[Edit]) -> None:
    replay = replay_of(db)
    if replay.refusal is not None:
        return
    candidates = [Candidate(str(at), Transform.exactly(str(at), edit), "config") for at, edit in enumerate(edits)]

    plan = replay.joint(candidates)

    assert isinstance(plan, Plan)
    lengths = [plan.base_ns, *(step.step_ns for step in plan.steps)]
    assert [before - after for before, after in pairwise(lengths)] == [step.gain.expected_ns for step in plan.steps]
    assert sum(step.gain.expected_ns for step in plan.steps) <= plan.base_ns
    assert len(plan.steps) + len(plan.left_out) == len(candidates)


@given(steps())
@settings(max_examples=5)
def test_the_order_of_the_rows_does_not_matter(db: DuckDBPyConnection) -> None:
    before = replay_of(db)
    for table in ("operator", "host_call", "kernel", "collective"):
        db.execute(f"create or replace table {table} as select * from {table} order by ts_ns desc, dur_ns")

    after = replay_of(db)

    gains = [one.gain(Transform.exactly("x", Scale(Where(names=("compute",)), 0.5))) for one in (before, after)]
    assert after.base_ns == before.base_ns
    assert all(isinstance(gain, Gain) for gain in gains) or before.refusal is not None
    assert gains[0] == gains[1]
