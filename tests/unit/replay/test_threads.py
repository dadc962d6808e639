"""Threads, launches, queues, joins: what a host's nodes are connected with."""

from __future__ import annotations

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn.replay import Remove, Replay, Scale, TimeClass, Where
from ascend_sn.replay.graph import EdgeKind, NodeKind, topological
from ascend_sn.replay.threads import Moments, Slices, Stretches, bursts, cut_threads
from tests.timeline import insert, timeline
from tests.unit.replay.drawings import first_step_after, kernels_named, launch, node_of, replay_of, step_after

MS = 1_000_000


def cut(
    slices: list[tuple[int, int, int]], *, blocked: list[tuple[int, int, int]] | None = None
) -> list[tuple[int, ...]]:
    """Cut threads of a window of 100; thread 0 is the main one. Return thread, start, dur, slice of each node."""
    columns = np.array(slices, np.int64).reshape(-1, 3)
    given = Slices(columns[:, 0], columns[:, 1], columns[:, 2], np.arange(len(columns), dtype=np.int64))
    waits = np.array(blocked or [], np.int64).reshape(-1, 3)
    working = bursts(given, 0, (0, 100), Moments.none())
    nodes = cut_threads(given, working, (0, 100), Moments.none(), Stretches(waits[:, 0], waits[:, 1], waits[:, 2]))
    columns_out = (nodes.thread, nodes.start, nodes.dur, nodes.task)
    return list(zip(*(column.tolist() for column in columns_out), strict=True))


def test_the_main_thread_works_between_its_slices() -> None:
    assert cut([(0, 10, 40), (0, 60, 70)]) == [
        (0, 0, 0, -1),
        (0, 0, 10, -1),
        (0, 10, 30, 0),
        (0, 40, 20, -1),
        (0, 60, 10, 1),
        (0, 70, 30, -1),
    ]


def test_inner_slices_take_their_time_from_outer_ones() -> None:
    assert [node[2:] for node in cut([(0, 0, 100), (0, 20, 50)])] == [(0, -1), (20, 0), (30, 1), (50, 0)]


def test_another_thread_rests_after_its_last_slice() -> None:
    nodes = cut([(0, 0, 100), (1, 10, 20), (1, 25, 40)])

    # Its short gap is its own work.
    assert [node for node in nodes if node[0] == 1] == [(1, 10, 0, -1), (1, 10, 10, 1), (1, 20, 5, -1), (1, 25, 15, 2)]


def test_a_waiting_stretch_has_no_duration_and_lies_where_it_ends() -> None:
    nodes = cut([(0, 10, 50)], blocked=[(0, 20, 45)])

    assert (0, 45, 0, 0) in nodes
    assert sum(node[2] for node in nodes) == 100 - 25


def test_order_of_nodes_of_one_moment_follows_their_edges() -> None:
    start = np.array([0, 5, 5, 5], np.int64)

    order, kept = topological(start, np.array([0, 3, 2]), np.array([3, 2, 1]))

    assert order.tolist() == [0, 3, 2, 1]
    assert kept.all()


def test_circles_at_one_moment_are_opened_and_edges_back_in_time_left_out() -> None:
    start = np.array([0, 5, 5], np.int64)

    _, kept = topological(start, np.array([1, 2, 1]), np.array([2, 1, 0]))

    assert not kept.all()
    assert not kept[2]


def drawn_ms(drawing: str, **kinds: str) -> DuckDBPyConnection:
    """A drawing of which one character is a millisecond."""
    return timeline(drawing, kinds=kinds)


def in_ms(db: DuckDBPyConnection) -> Replay:
    for table in ("step", "operator", "host_call", "kernel", "collective"):
        db.execute(f"update {table} set ts_ns = ts_ns * {MS}, dur_ns = dur_ns * {MS}")
    return replay_of(db)


def test_a_kernel_is_launched_within_its_call_when_it_starts_before_the_call_returns() -> None:
    # B is launched by a call of 4 and starts after 2 of it; A's latency of 1 is the least.
    db = timeline("r0 step |1111111111|\n r0 s1 |..A.......|\n r0 s2 |.....BBBBB|")
    launch(db, "A..BBBB...")

    replay = replay_of(db)

    into = replay.graph.incoming(node_of(replay.graph, "B"))
    (at,) = np.flatnonzero(replay.graph.edges.kind[into] == EdgeKind.LAUNCH) + into.start
    source = int(replay.graph.edges.src[at])
    assert replay.graph.edges.weight[at] == 1
    assert replay.graph.nodes.start[source] + replay.graph.nodes.dur[source] == 4
    assert (replay.base_ns, replay.violations) == (10, 0)


def test_a_kernel_before_its_launch_is_counted_and_moves_nothing() -> None:
    db = timeline("r0 step |1111111111|\n r0 s1 |..AAA.....|")
    launch(db, "...A......")

    replay = replay_of(db)

    assert (replay.violations, replay.identity_error_ratio) == (1, 0)


def test_the_least_latency_is_that_of_launches_that_found_their_stream_free() -> None:
    # B waits for A on the stream; its 6 after the launch are no latency.
    db = timeline("r0 step |111111111111|\n r0 s1 |..AAAAAABBBB|")
    launch(db, "AB..........")

    replay = replay_of(db)

    weights = replay.graph.edges.weight[replay.graph.edges.kind == EdgeKind.LAUNCH]
    assert weights.tolist() == [1, 1]


def test_a_synchronisation_waits_for_what_was_launched_before_it() -> None:
    db = timeline(f"r0 step |{'1' * 20}|\n r0 s1 |.{'A' * 9}{'B' * 10}|")
    launch(db, "As.......B..........")
    db.execute("update host_call set dur_ns = 8 where name <> 'launch'")

    replay = replay_of(db)

    # It returns before A ends, so that it did not wait for A.
    assert (replay.graph.edges.kind == EdgeKind.BLOCKING).sum() == 0


def test_a_call_that_finds_the_device_done_would_wait_if_that_took_longer() -> None:
    db = timeline(f"r0 step |{'1' * 20}|\n r0 s1 |.AAA{'.' * 16}|")
    launch(db, "A.........ss........")

    # 4 times as long A ends at 13; the 2 of the call and the 8 behind it come then.
    assert step_after(replay_of(db), Scale(Where(names=("A",)), 4.0)) == 23


def test_a_copy_that_ends_within_its_call_holds_the_call() -> None:
    db = timeline(f"r0 step |{'1' * 20}|\n r0 s1 |..{'A' * 10}{'.' * 8}|", kinds={"A": "copy"})
    launch(db, f".{'A' * 13}......")

    # Without the copy the call needs 1 before and 2 after it.
    assert step_after(replay_of(db), Remove(Where(kinds=("copy",)), launches=False)) == 10


def test_work_from_a_queue_starts_with_its_enqueue() -> None:
    db = timeline("r0 step |11111111111111111111|\n r0 host |dddd................|\n r0 s1 |........AAAAAAAA....|")
    launch(db, "....q...............")
    launch(db, "......A.............", thread="queue")
    insert(db, "flow", src_table="host_call", src_id=0, dst_table="host_call", dst_id=1, kind="queue")
    launch(db, "..........ssssssss..")

    replay = replay_of(db)

    assert (replay.graph.edges.kind == EdgeKind.QUEUE).sum() == 1
    assert step_after(replay, Remove(Where(classes=(TimeClass.DATA_LOADING,)))) == 16


def test_the_main_thread_waits_for_the_worker_that_fills_its_silence() -> None:
    db = timeline(
        """
        r0 step  |1111111111|
        r0 host0 |ff........|
        r0 host1 |...bbbbb..|
        """
    )

    replay = in_ms(db)

    # The worker is woken at 3, and the main thread goes on at 8.
    assert replay.base_ns == 10 * MS
    assert step_after(replay, Scale(Where(phases=("backward",)), 0.2)) == 6 * MS


def test_a_worker_beside_a_busy_main_thread_is_not_waited_for() -> None:
    db = timeline(
        """
        r0 step  |1111111111|
        r0 host0 |fofofofofo|
        r0 host1 |...bbbbb..|
        """
    )

    assert step_after(in_ms(db), Scale(Where(phases=("backward",)), 0.2)) == 10 * MS


def test_communication_that_begins_where_computing_ends_waited_for_it() -> None:
    # Neither launch nor event is recorded for R.
    db = timeline(f"r0 step |{'1' * 10}|\n r0 s1 |AAAA......|\n r0 s2 |....RRRRRR|", kinds={"R": "communication"})

    replay = in_ms(db)

    edges = replay.graph.edges
    assert edges.inferred[edges.kind == EdgeKind.EVENT].tolist() == [True]
    assert step_after(replay, Scale(Where(names=("A",)), 0.5)) == 8 * MS


def test_a_wait_for_an_event_takes_the_record_launched_last_before_it() -> None:
    db = timeline(
        """
        r0 step |11111111111111111111|
        r0 s1   |.AAAAAR.............|
        r0 s2   |.WWWWWWBBBBBBBBBBBBB|
        """,
        kinds={"R": "sync", "W": "sync"},
    )
    db.execute("update kernel set name = 'EVENT_RECORD' where name = 'R'")
    db.execute("update kernel set name = 'EVENT_WAIT' where name = 'W'")
    launch(db, "A...................")

    replay = replay_of(db)

    wait = node_of(replay.graph, "EVENT_WAIT")
    assert (replay.graph.nodes.start[wait], replay.graph.nodes.dur[wait]) == (7, 0)
    assert first_step_after(replay, Scale(Where(names=("A",)), 0.2), Scale(Where(part="host"), 0.0)) == 15


def test_late_kernels_beside_busy_streams_are_contended() -> None:
    db = timeline(f"r0 step |{'1' * 10}|\n r0 s1 |AAAAAAAA..|\n r0 s2 |..C...BBBB|")
    launch(db, "ACB.......")

    path = in_ms(db).critical_path()

    assert path.class_ns[TimeClass.CONTENTION] == 3 * MS


def test_removing_a_kernel_removes_the_call_that_launched_nothing_else() -> None:
    db = timeline("r0 step |1111111111|\n r0 s1 |..AA.BB...|")
    launch(db, "AABB......")
    db.execute(
        "update kernel set host_call_id = 0 where kernel_id in (?, ?)",
        [kernels_named(db, "A")[0], kernels_named(db, "B")[0]],
    )

    kept = step_after(replay_of(db), Remove(Where(names=("A",))))

    assert kept == 10
    assert (replay_of(db).graph.nodes.kind == NodeKind.KERNEL).sum() == 2
