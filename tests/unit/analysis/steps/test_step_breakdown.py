"""A03: compute + exposed communication + exposed copies + free = window, moment by moment."""

from __future__ import annotations

from tests.timeline import insert, timeline
from tests.unit.analysis.rows import collective, profile, results

# HT1 of the definitions: data [0,30), A [35,55), B [55,60), C [60,70), all-reduce R [70,95), D [95,100).
HT1 = """
    r0 step |1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111|
    r0 host |dddddddddddddddddddddddddddddd......................................................................|
    r0 s1   |...................................AAAAAAAAAAAAAAAAAAAABBBBBCCCCCCCCCC.........................DDDDD|
    r0 s2   |......................................................................RRRRRRRRRRRRRRRRRRRRRRRRR.....|
"""


def test_the_hand_trace() -> None:
    db = timeline(HT1, kinds={"R": "communication"})

    (step,) = results("step_breakdown", db)

    assert step == {
        "profile_id": 0,
        "rank": 0,
        "step_id": 0,
        "step": 1,
        "scope": "step",
        "origin": "mark",
        "ts_ns": 0,
        "window_ns": 100,
        "compute_ns": 40,
        "overlapped_ns": 0,
        "communication_ns": 25,
        "exposed_comm_ns": 25,
        "exposed_copy_ns": 0,
        "free_ns": 35,
        "fused_ns": 0,
        "preparing_ns": 35,
        "stage_ns": 65,
        "tail_ns": 0,
        "bubble_ns": 0,
        "stage_compute_ns": 40,
        "stage_overlapped_ns": 0,
        "stage_communication_ns": 25,
        "stage_exposed_comm_ns": 25,
        "stage_free_ns": 0,
    }


def test_time_is_accounted_once_however_many_streams_work() -> None:
    db = timeline(
        """
        r0 step |1111111111|
        r0 s1   |.AAAA.....|
        r0 s2   |...BBB....|
        r0 s3   |..RRRRRR..|
        r0 s4   |.......HH.|
        """,
        kinds={"R": "communication", "H": "copy"},
    )

    (step,) = results("step_breakdown", db)

    # compute [1,6), communication [2,8) of which [6,8) is exposed, copy [7,9) of which [8,9) is.
    assert (step["compute_ns"], step["exposed_comm_ns"], step["exposed_copy_ns"], step["free_ns"]) == (5, 2, 1, 2)
    assert (step["overlapped_ns"], step["communication_ns"]) == (4, 6)


def test_the_exporters_view_counts_copies_as_free() -> None:
    db = timeline(
        """
        r0 step |1111111111|
        r0 s1   |..AA..BB..|
        r0 s2   |HH..H.....|
        """,
        kinds={"H": "copy"},
    )

    (step,) = results("step_breakdown", db)

    assert (step["preparing_ns"], step["stage_ns"], step["tail_ns"]) == (2, 6, 2)
    assert (step["stage_compute_ns"], step["stage_free_ns"]) == (4, 2)
    assert (step["compute_ns"], step["exposed_copy_ns"], step["free_ns"]) == (4, 3, 3)


def test_waits_and_records_are_no_work() -> None:
    db = timeline("r0 step |11111|\n r0 s1 |WAAWW|", kinds={"W": "sync"})

    (step,) = results("step_breakdown", db)

    assert (step["compute_ns"], step["free_ns"], step["stage_ns"]) == (2, 3, 2)


def test_fused_kernels_are_compute_and_listed_apart() -> None:
    db = timeline("r0 step |11111111|\n r0 s1 |.FFFAA..|\n r0 s2 |..FF....|", kinds={"F": "fused"})

    (step,) = results("step_breakdown", db)

    assert (step["compute_ns"], step["fused_ns"], step["free_ns"]) == (5, 3, 3)


def test_a_kernel_across_the_mark_counts_in_each_step_for_what_runs_there() -> None:
    db = timeline("r0 step |1111122222|\n r0 s1 |...AAAA...|")

    first, second = results("step_breakdown", db)

    assert [(step["compute_ns"], step["free_ns"]) for step in (first, second)] == [(2, 3), (2, 3)]
    # The exporter's stage follows the launch: the whole kernel belongs to step 1, none to step 2.
    assert (first["stage_ns"], first["tail_ns"]) == (4, 0)
    assert (second["stage_ns"], second["preparing_ns"], second["stage_free_ns"]) == (None, None, None)


def test_every_profile_has_its_own_steps() -> None:
    db = timeline(
        """
        r0 step |1111....|
        r0 s1   |.AA.....|
        r1 step |....7777|
        r1 s1   |....A...|
        """
    )

    steps = results("step_breakdown", db)

    assert [(step["profile_id"], step["step"], step["ts_ns"], step["compute_ns"]) for step in steps] == [
        (0, 1, 0, 2),
        (1, 7, 4, 1),
    ]


def test_without_marks_the_window_is_the_whole_capture_from_first_kernel_to_last() -> None:
    db = timeline("r0 s1 |..AA..BB..|")

    (whole,) = results("step_breakdown", db)

    assert (whole["scope"], whole["step_id"], whole["step"], whole["origin"]) == ("whole capture", None, None, None)
    assert (whole["ts_ns"], whole["window_ns"], whole["compute_ns"], whole["free_ns"]) == (2, 6, 4, 2)
    assert (whole["preparing_ns"], whole["stage_ns"], whole["tail_ns"]) == (None, 6, None)


def test_inferred_steps_stand_beside_the_whole_capture() -> None:
    db = timeline("r0 step |11112222|\n r0 s1 |AAB.AB..|")
    db.execute("update step set origin = 'inferred', step = null")

    found = results("step_breakdown", db)

    assert [(row["scope"], row["step_id"], row["step"], row["window_ns"], row["compute_ns"]) for row in found] == [
        ("whole capture", None, None, 6, 5),
        ("step", 0, None, 4, 3),
        ("step", 1, None, 4, 2),
    ]


def test_a_receive_is_a_bubble_and_not_part_of_the_stage() -> None:
    db = timeline("r0 step |1111111111111111|\n r0 s1 |..AA........BB..|")
    collective(db, 0, 0, 4, 10, op="receive", step_id=0)
    collective(db, 0, 1, 10, 12, op="send", step_id=0)

    (step,) = results("step_breakdown", db)

    # First kernel at 2, last end at 14; the receive takes 6 of those 12.
    assert (step["bubble_ns"], step["stage_ns"]) == (6, 6)
    assert step["stage_ns"] + step["bubble_ns"] == (
        step["stage_compute_ns"] + step["stage_exposed_comm_ns"] + step["stage_free_ns"]
    )


def test_the_bubble_of_the_whole_capture_holds_every_receive() -> None:
    db = timeline("r0 s1 |AA........BB|")
    collective(db, 0, 0, 2, 5, op="receive")
    collective(db, 0, 1, 6, 8, op="receive")

    (whole,) = results("step_breakdown", db)

    assert (whole["bubble_ns"], whole["stage_ns"]) == (5, 7)


def test_epoch_nanoseconds_keep_their_last_digit() -> None:
    base = 1_736_408_883_704_643_213
    db = timeline("")
    profile(db, 0)
    insert(db, "step", rank=0, step_id=0, step=50, ts_ns=base, dur_ns=17, origin="mark")
    insert(db, "kernel", rank=0, kernel_id=0, kind="compute", ts_ns=base + 1, dur_ns=3, step_id=0)

    (step,) = results("step_breakdown", db)

    assert (step["ts_ns"], step["window_ns"], step["compute_ns"], step["preparing_ns"], step["tail_ns"]) == (
        base,
        17,
        3,
        1,
        13,
    )
