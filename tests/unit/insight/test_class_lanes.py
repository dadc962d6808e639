"""Lanes of activity classes, counted from drawings, and held against the step breakdown."""

from __future__ import annotations

from unittest import mock

from hypothesis import given, settings, strategies as st

from ascend_sn.analysis.steps.step_breakdown import step_breakdown
from ascend_sn.insight import class_lanes as module
from ascend_sn.insight.class_lanes import class_lanes
from tests.timeline import timeline

KINDS = {"C": "communication", "M": "copy", "W": "sync", "F": "fused"}


def lanes(drawing: str, profile: int = 0) -> dict[str, list[tuple[int, int]]]:
    db = timeline(drawing, kinds=KINDS)
    return {
        lane.kind: list(zip(lane.start.tolist(), lane.end.tolist(), strict=True)) for lane in class_lanes(db, profile)
    }


def test_classes_are_counted_from_the_drawing() -> None:
    found = lanes(
        """
        r0 step |.111111111111.|
        r0 s1   |.AA..BB....F..|
        r0 s2   |..CCCC........|
        r0 s3   |.......MM.....|
        r0 s4   |W........W....|
        """
    )

    assert found == {
        "compute": [(1, 3), (5, 7), (11, 12)],
        "exposed_communication": [(3, 5)],
        "overlapped_communication": [(2, 3), (5, 6)],
        "exposed_copy": [(7, 9)],
        "free": [(9, 11), (12, 13)],
    }


def test_without_steps_the_window_is_the_whole_capture() -> None:
    assert lanes("r0 s1 |..AA.BB.|") == {"compute": [(2, 4), (5, 7)], "free": [(4, 5)]}


def test_there_is_nothing_free_between_steps() -> None:
    assert lanes(
        """
        r0 step |11...22|
        r0 s1   |.A....B|
        """
    ) == {"compute": [(1, 2), (6, 7)], "free": [(0, 1), (5, 6)]}


def test_each_profile_has_lanes_of_its_own_and_one_without_kernels_has_none() -> None:
    drawing = """
        r0 s1   |AA|
        r1 host |dd|
    """

    assert lanes(drawing) == {"compute": [(0, 2)]}
    assert lanes(drawing, 1) == {}


kernels = st.lists(st.text("ABCM.", min_size=30, max_size=30), min_size=1, max_size=4)


@settings(max_examples=30)
@given(kernels, st.integers(1, 7))
def test_the_sums_are_those_of_the_step_breakdown(streams: list[str], at_once: int) -> None:
    drawing = "r0 step |111111111122222222223333333333|\n" + "\n".join(
        f"r0 s{number} |{drawn}|" for number, drawn in enumerate(streams)
    )
    db = timeline(drawing, kinds=KINDS)
    with mock.patch.object(module, "_AT_ONCE", at_once):
        found = {lane.kind: int((lane.end - lane.start).sum()) for lane in class_lanes(db, 0)}

    rows = step_breakdown(db).dicts()

    def total(column: str) -> int:
        return sum(row[column] for row in rows)

    assert found.get("compute", 0) == total("compute_ns")
    assert found.get("exposed_communication", 0) == total("exposed_comm_ns")
    assert found.get("overlapped_communication", 0) == total("overlapped_ns")
    assert found.get("exposed_copy", 0) == total("exposed_copy_ns")
    assert found.get("free", 0) == total("free_ns")
