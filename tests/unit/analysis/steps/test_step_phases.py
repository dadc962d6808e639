"""A03b: every moment of a step belongs to one phase; the phases sum to the step."""

from __future__ import annotations

from typing import Any

from tests.timeline import timeline
from tests.unit.analysis.rows import results

PHASES = ("data", "forward", "backward", "communication", "optimizer", "other")


def parts(row: dict[str, Any]) -> tuple[int, ...]:
    return tuple(row[f"{phase}_ns"] for phase in PHASES)


def test_one_of_each() -> None:
    db = timeline(
        """
        r0 step |111111111111111111111|
        r0 host |.dddffffbbbb.oooo....|
        r0 s1   |.....FFF.BBB....OO...|
        r0 s2   |.........RRRRRR......|
        """,
        kinds={"R": "communication"},
        launched_by={"F": "forward", "B": "backward", "O": "optimizer"},
    )

    (step,) = results("step_phases", db)

    # host data 1-4; forward 4-5 on the host, 5-8 on the device; backward 8-9 on the host, 9-12 on the device
    # (over the collective); communication 12-15; optimizer 15-16 on the host, 16-18 on the device; other 0, 18-21.
    assert parts(step) == (3, 4, 4, 3, 3, 4)
    assert sum(parts(step)) == step["window_ns"] == 21


def test_the_device_decides_over_the_host() -> None:
    db = timeline("r0 step |1111|\n r0 host |dddd|\n r0 s1 |.FF.|", launched_by={"F": "forward"})

    (step,) = results("step_phases", db)

    assert (step["data_ns"], step["forward_ns"]) == (2, 2)


def test_communication_under_compute_is_the_computing_phase() -> None:
    db = timeline(
        "r0 step |111111|\n r0 s1 |.BB...|\n r0 s2 |.RRRR.|",
        kinds={"R": "communication"},
        launched_by={"B": "backward"},
    )

    (step,) = results("step_phases", db)

    assert (step["backward_ns"], step["communication_ns"], step["other_ns"]) == (2, 2, 2)


def test_of_two_phases_computing_at_once_backward_takes_the_moment() -> None:
    db = timeline("r0 step |11111|\n r0 s1 |FFF..|\n r0 s2 |..BBB|", launched_by={"F": "forward", "B": "backward"})

    (step,) = results("step_phases", db)

    assert (step["forward_ns"], step["backward_ns"]) == (2, 3)


def test_a_copy_belongs_to_the_phase_that_launched_it_and_yields_to_work() -> None:
    db = timeline(
        "r0 step |111111|\n r0 s1 |..FF..|\n r0 s2 |HHHHH.|",
        kinds={"H": "copy"},
        launched_by={"F": "forward", "H": "data"},
    )

    (step,) = results("step_phases", db)

    assert (step["data_ns"], step["forward_ns"], step["other_ns"]) == (3, 2, 1)


def test_a_kernel_that_nothing_is_linked_to_is_other() -> None:
    db = timeline("r0 step |1111|\n r0 host |ffff|\n r0 s1 |.KK.|")

    (step,) = results("step_phases", db)

    assert (step["other_ns"], step["forward_ns"]) == (2, 2)


def test_phases_of_every_step_and_profile() -> None:
    db = timeline(
        """
        r0 step |11112222|
        r0 s1   |.FFFFF..|
        r1 step |1111....|
        r1 host |dd......|
        r1 s1   |..F.....|
        """,
        launched_by={"F": "forward"},
    )

    steps = results("step_phases", db)

    assert [(row["profile_id"], row["step"], row["data_ns"], row["forward_ns"], row["other_ns"]) for row in steps] == [
        (0, 1, 0, 3, 1),
        (0, 2, 0, 2, 2),
        (1, 1, 2, 1, 1),
    ]


def test_without_marks_the_whole_capture_is_divided() -> None:
    db = timeline("r0 host |ffff..|\n r0 s1 |.FF.F.|", launched_by={"F": "forward"})

    (whole,) = results("step_phases", db)

    assert (whole["scope"], whole["window_ns"]) == ("whole capture", 4)
    assert parts(whole) == (0, 4, 0, 0, 0, 0)
