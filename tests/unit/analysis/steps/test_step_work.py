"""Kernels of each step by operator: calls and time; of communication only what nothing hides."""

from __future__ import annotations

from ascend_sn.analysis.steps.step_work import step_work
from tests.timeline import insert, timeline


def test_the_kernels_of_each_step_are_summed() -> None:
    db = timeline("""
        r0 step |11111111112222222222|
        r0 s1   |AA.B......AAA.......|
        r0 s2   |.CCC......C.........|
    """)
    db.execute("update kernel set kind = 'communication' where name = 'C'")
    db.execute("update kernel set op_type = null, input_shapes = '2,3' where name = 'A'")
    insert(db, "collective", profile_id=0, collective_id=0, kernel_id=3, op="allreduce")
    db.execute("update collective set kernel_id = (select min(kernel_id) from kernel where name = 'C')")

    rows = step_work(db).dicts()

    found = sorted(
        (row["step_id"], row["kind"], row["op"], row["shapes"] or "", row["calls"], row["total_ns"]) for row in rows
    )
    assert found == [
        (0, "communication", "allreduce", "", 1, 1),  # columns 1 and 3 lie under A and B
        (0, "compute", "A", "2,3", 1, 2),
        (0, "compute", "B", "", 1, 1),
        (1, "communication", "C", "", 1, 0),
        (1, "compute", "A", "2,3", 1, 3),
    ]
