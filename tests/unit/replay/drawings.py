"""Add to drawn traces what a replay needs: launches, waits for events, meetings; and draw host-only captures."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn.replay import Edit, Gain, Replay, Transform
from ascend_sn.replay.engine import Draft
from ascend_sn.replay.graph import NodeKind, StepGraph
from tests.timeline import empty_tables, insert, slices_of, timeline, together

PHASES = {"d": "data", "f": "forward", "b": "backward", "o": "optimizer"}


def launch(db: DuckDBPyConnection, drawn: str, *, profile: int = 0, thread: str = "host") -> None:
    """Draw host calls: a capital launches the kernel of that name (the k-th one its k-th), `s` synchronises.

    Every other small letter is a call of that name.
    """
    ids = count(_next(db, "host_call", "host_call_id", profile))
    seen: dict[str, int] = {}
    for letter, start, dur in slices_of(drawn):
        number = next(ids)
        name = "launch" if letter.isupper() else {"s": "aclrtSynchronizeDevice"}.get(letter, letter)
        insert(
            db,
            "host_call",
            profile_id=profile,
            rank=profile,
            host_call_id=number,
            thread=thread,
            level="acl",
            name=name,
            ts_ns=start,
            dur_ns=dur,
        )
        if letter.isupper():
            seen[letter] = seen.get(letter, 0) + 1
            kernels = kernels_named(db, letter, profile)
            db.execute(
                "update kernel set host_call_id = ? where profile_id = ? and kernel_id = ?",
                [number, profile, kernels[seen[letter] - 1]],
            )


def wait(db: DuckDBPyConnection, pairs: Mapping[str, str], *, profile: int = 0) -> None:
    """Let the first kernel of each name wait for the first one of another."""
    for waiting, before in pairs.items():
        insert(
            db,
            "flow",
            profile_id=profile,
            rank=profile,
            src_table="kernel",
            src_id=kernels_named(db, before, profile)[0],
            dst_table="kernel",
            dst_id=kernels_named(db, waiting, profile)[0],
            kind="event",
        )


def meet(
    db: DuckDBPyConnection,
    name: str,
    *,
    profiles: tuple[int, ...],
    group_size: int,
    is_exact: bool = True,
    size_bytes: int | None = None,
    transit_ns: int | None = None,
) -> None:
    """Make the kernels of a name collectives of one group, numbered in order."""
    for profile in profiles:
        with together(db):
            for place in range(group_size):
                insert(
                    db,
                    "comm_group_member",
                    profile_id=profile,
                    group_id=f"group {name}",
                    group_rank=place,
                    group_size=group_size,
                    size_is_exact=is_exact,
                    member_rank=place,
                )
        for sequence, kernel in enumerate(kernels_named(db, name, profile)):
            ((ts, dur),) = db.execute(
                "select ts_ns, dur_ns from kernel where profile_id = ? and kernel_id = ?", [profile, kernel]
            ).fetchall()
            insert(
                db,
                "collective",
                profile_id=profile,
                rank=profile,
                collective_id=_next(db, "collective", "collective_id", profile),
                kernel_id=kernel,
                op="allreduce",
                name=name,
                group_id=f"group {name}",
                sequence=sequence,
                size_bytes=size_bytes,
                dtype="float32",
                ts_ns=ts,
                dur_ns=dur,
                transit_ns=transit_ns,
                method=None if transit_ns is None else "recorded",
            )


def exchange(
    db: DuckDBPyConnection, ops: Mapping[tuple[int, str], str], *, stages: int, transit_ns: int | None = None
) -> None:
    """Make kernels (profile, name) calls of one communicator of kind pp, by op.

    As exporters do, each rank numbers its calls in the order of time, whatever they are. The stage of a profile is its
    number.
    """
    for profile in sorted({profile for profile, _ in ops}):
        with together(db):
            for place in range(stages):
                insert(
                    db,
                    "comm_group_member",
                    profile_id=profile,
                    group_id="pipeline",
                    kind="pp",
                    group_rank=place,
                    group_size=stages,
                    size_is_exact=True,
                    member_rank=place,
                )
        calls = db.execute(
            "select kernel_id, name, ts_ns, dur_ns from kernel where profile_id = ? order by ts_ns, kernel_id",
            [profile],
        ).fetchall()
        mine = [call for call in calls if (profile, call[1]) in ops]
        for sequence, (kernel, name, ts, dur) in enumerate(mine):
            insert(
                db,
                "collective",
                profile_id=profile,
                rank=profile,
                collective_id=_next(db, "collective", "collective_id", profile),
                kernel_id=kernel,
                op=ops[profile, name],
                name=name,
                group_id="pipeline",
                sequence=sequence,
                ts_ns=ts,
                dur_ns=dur,
                transit_ns=transit_ns,
                method=None if transit_ns is None else "recorded",
            )


def stretched(db: DuckDBPyConnection, factor: int) -> DuckDBPyConnection:
    """Let a character of a drawing be so many ns."""
    for table in ("step", "operator", "host_call", "kernel", "collective"):
        db.execute(f"update {table} set ts_ns = ts_ns * {factor}, dur_ns = dur_ns * {factor}")
    return db


def host_capture(lanes: Mapping[int, str], *, steps: Mapping[int, str] | None = None) -> DuckDBPyConnection:
    """Draw captures without a device, one lane for each profile.

    d data, f forward, b backward, o optimizer; A to Z are all-reduces of the group of that name, of all lanes.
    """
    db = empty_tables()
    with together(db):
        for profile, drawn in lanes.items():
            insert(db, "profile", profile_id=profile, rank=profile, format="drawing", device_kind="host", host="drawn")
            for step, start, dur in slices_of((steps or {}).get(profile, "")):
                insert(
                    db,
                    "step",
                    profile_id=profile,
                    rank=profile,
                    step_id=int(step),
                    step=int(step),
                    ts_ns=start,
                    dur_ns=dur,
                    origin="mark",
                )
            kernels = count()
            for number, (letter, start, dur) in enumerate(slices_of(drawn)):
                kind = "communication" if letter.isupper() else "compute"
                insert(
                    db,
                    "operator",
                    profile_id=profile,
                    rank=profile,
                    operator_id=number,
                    thread="main",
                    name=PHASES.get(letter, letter),
                    ts_ns=start,
                    dur_ns=dur,
                    phase=PHASES.get(letter, "other"),
                )
                if letter == "d":
                    continue
                insert(
                    db,
                    "kernel",
                    profile_id=profile,
                    rank=profile,
                    kernel_id=next(kernels),
                    device_id=0,
                    stream="main",
                    name=PHASES.get(letter, letter),
                    kind=kind,
                    ts_ns=start,
                    dur_ns=dur,
                    operator_id=number,
                )
    for name in sorted({letter for drawn in lanes.values() for letter in drawn if letter.isupper()}):
        meet(db, name, profiles=tuple(lanes), group_size=len(lanes))
    return db


def kernels_named(db: DuckDBPyConnection, name: str, profile: int = 0) -> list[int]:
    """Return the ids of the kernels of a name by time."""
    found = db.execute(
        "select kernel_id from kernel where profile_id = ? and name = ? order by ts_ns, kernel_id", [profile, name]
    ).fetchall()
    return [kernel for (kernel,) in found]


def _next(db: DuckDBPyConnection, table: str, column: str, profile: int) -> int:
    ((number,),) = db.execute(
        f"select coalesce(max({column}) + 1, 0) from {table} where profile_id = ?", [profile]
    ).fetchall()
    return int(number)


def node_of(graph: StepGraph, name: str, *, profile: int = 0, kind: NodeKind = NodeKind.KERNEL) -> int:
    """Return the first node of a kind that stands for a task of a name."""
    of_name = graph.tasks.name.matches([name])
    (found,) = np.nonzero(
        (graph.nodes.kind == kind) & (graph.nodes.profile == profile) & np.append(of_name, False)[graph.nodes.task]
    )
    return int(found[0])


def hand_trace() -> DuckDBPyConnection:
    """Return HT1 of the definitions: a step of 100 ns whose answers were counted by hand there."""
    db = timeline(
        f"""
        r0 step |{"1" * 100}|
        r0 host |{"d" * 30}{"." * 70}|
        r0 s1   |{"." * 35}{"A" * 20}{"B" * 5}{"C" * 10}{"." * 25}{"D" * 5}|
        r0 s2   |{"." * 70}{"R" * 25}|
        """,
        kinds={"R": "communication"},
    )
    launch(db, f"{'.' * 30}AABB{'.' * 16}CCDD{'s' * 46}")
    wait(db, {"R": "C", "D": "R"})
    return db


def replay_of(db: DuckDBPyConnection) -> Replay:
    """Return the replay of drawn tables."""
    found = Replay.of(db)
    assert isinstance(found, Replay), found
    return found


def first_step_after(replay: Replay, *edits: Edit) -> int:
    """Return how long the first step after some edits is, before the host runs ahead, ns."""
    draft = Draft(replay.graph)
    for edit in edits:
        edit.apply(draft)
    return draft.timing().makespan_ns


def step_after(replay: Replay, *edits: Edit) -> int:
    """Return how long the step is after some edits, ns."""
    gain = replay.gain(Transform.exactly("edit", *edits))
    assert isinstance(gain, Gain), gain
    return gain.base_ns - gain.expected_ns
