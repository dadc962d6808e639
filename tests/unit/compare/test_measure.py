"""Figures of drawn captures, counted by hand."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from ascend_sn.compare.figures import Peak, RunFigures, Work
from ascend_sn.compare.measure import figures_of
from tests.timeline import insert, timeline, together
from tests.unit.report.drawn import DrawnRun, nothing

# The first of four steps is warm-up. Step 2: C wholly under A; steps 3 and 4: two of its six beside nothing.
DRAWING = """
    r0 step |1111111111222222222233333333334444444444|
    r0 s1   |AAAA......AAAA......AAAB......AAAB......|
    r0 s2   |..CC......CCCC......CCCCCC....CCCCCC....|
"""


def drawn(drawing: str = DRAWING) -> DuckDBPyConnection:
    return timeline(drawing, kinds={"C": "communication", "X": "copy"})


def figures(db: DuckDBPyConnection) -> RunFigures:
    return figures_of(DrawnRun(db), "drawn")


def row(found: RunFigures, op: str) -> Work:
    (one,) = [work for work in found.work if work.op == op]
    return one


def test_steady_steps_and_their_parts() -> None:
    found = figures(drawn())

    assert (found.scope, found.all_step_count, [step.number for step in found.steps]) == ("step", 4, [2, 3, 4])
    assert [step.dur_ns for step in found.steps] == [10, 10, 10]
    assert [step.compute_ns for step in found.steps] == [4, 4, 4]
    assert [step.exposed_comm_ns for step in found.steps] == [0, 2, 2]
    parts = found.parts
    assert parts is not None
    assert (parts.window_count, parts.window_ns, parts.compute_ns, parts.exposed_comm_ns) == (3, 30, 12, 4)
    assert sum(parts.free.values()) == 14


def test_kernels_are_summed_and_of_communication_only_what_nothing_hides() -> None:
    found = figures(drawn())

    assert (row(found, "A").calls, row(found, "A").total_ns) == (3, 10)
    assert (row(found, "B").calls, row(found, "B").total_ns) == (2, 2)
    assert (row(found, "C").kind, row(found, "C").calls, row(found, "C").total_ns) == ("communication", 3, 4)


def test_copies_are_hidden_by_communication_too() -> None:
    found = figures(
        drawn("""
            r0 step |11111111112222222222|
            r0 s1   |A.........AA........|
            r0 s2   |C...........CC......|
            r0 s3   |X..........XXXXX....|
        """)
    )

    # Step 2: the copy takes five, one of it under A, two beside C.
    assert (row(found, "copy").calls, row(found, "copy").total_ns) == (1, 2)


def test_a_step_is_as_long_as_on_its_longest_rank() -> None:
    found = figures(
        drawn("""
            r0 step |111111111122222222..|
            r0 s1   |A.........AA........|
            r1 step |11111111112222222222|
            r1 s1   |A.........AAAA......|
        """)
    )

    (step,) = found.steps
    assert (step.dur_ns, step.window_ns, step.compute_ns) == (10, 18, 6)
    assert found.parts is not None
    assert found.parts.window_count == 2
    assert (found.ranks, found.size) == ([0, 1], 2)


def test_a_step_that_launched_nothing_stands_for_no_other() -> None:
    found = figures(
        drawn("""
            r0 step |111111111122222222223333333333|
            r0 s1   |A.........AA..................|
        """)
    )

    assert [step.number for step in found.steps] == [2]


def test_without_marks_the_whole_capture_is_one_step() -> None:
    found = figures(drawn("r0 s1 |AAAA......AAAB|"))

    assert (found.scope, [step.dur_ns for step in found.steps]) == ("whole capture", [14])
    assert (row(found, "A").calls, row(found, "A").total_ns) == (2, 7)


def test_collectives_are_summed_with_their_parts_unless_one_call_lacks_them() -> None:
    db = drawn()
    rows = db.sql("select kernel_id, ts_ns, dur_ns from kernel where kind = 'communication' order by ts_ns").fetchall()
    with together(db):
        for number, (kernel, start, length) in enumerate(rows):
            insert(db, "collective", rank=0, collective_id=number, kernel_id=kernel, op="allreduce", group_id="g",
                   sequence=number, ts_ns=start, dur_ns=length, transit_ns=1, wait_ns=None if number == 2 else 2,
                   idle_ns=0, method="recorded")  # fmt: skip

    (found,) = figures(db).collectives

    # Steps 2 to 4: 4 + 6 + 6, a transit of one each; one of the waits is not known.
    assert (found.op, found.calls, found.total_ns, found.transit_ns, found.wait_ns) == ("allreduce", 3, 16, 3, None)


def test_epochs_are_told_by_sessions_or_by_name() -> None:
    db = drawn()
    assert figures(db).epochs_ns == []

    db = drawn()
    db.execute("update step set session = step // 3")
    assert figures(db).epochs_ns == [20, 20]

    db = drawn()
    db.execute("update step set epoch = 7")
    assert figures(db).epochs_ns == [40]


def test_memory_is_that_of_the_fullest_rank() -> None:
    db = drawn()
    for size in (3 << 20, 5 << 20):
        insert(db, "memory_sample", rank=0, ts_ns=size, component="PTA", allocated_bytes=size, reserved_bytes=9 << 20)

    assert figures(db).peak == Peak(peak_bytes=5 << 20, basis="allocated", component="PTA")


def test_the_structure_of_the_job_is_told_by_its_communicators() -> None:
    db = drawn()
    with together(db):
        for group in ("a", "b"):
            for member in range(2):
                insert(db, "comm_group_member", rank=0, group_id=group, kind="tp", group_size=2, size_is_exact=True,
                       group_rank=member)  # fmt: skip

    assert figures(db).groups == ["tp 2 x 2"]


def test_an_accelerator_without_device_records_is_silent() -> None:
    db = timeline("r0 step |1111|\nr0 host |ffff|")

    found = figures(db)

    assert (found.silent_ranks, found.parts, found.work) == ([0], None, [])


def test_nothing_gives_nothing() -> None:
    found = figures_of(nothing(), "empty")

    assert (found.scope, found.steps, found.parts, found.peak) == ("none", [], None, None)
