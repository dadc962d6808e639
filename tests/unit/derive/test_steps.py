"""A02: marked steps are kept, others are inferred from the rhythm of the kernels; kernels know their step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ascend_sn.derive.steps import assign_steps, ensure_steps, period
from tests.unit.derive.captures import capture, column, slices


def kernels(names: str, length: int = 8, pitch: int = 10) -> list[dict[str, Any]]:
    """One kernel per letter, every `pitch` ns, `length` ns long."""
    return [{"name": name, "kind": "compute", "ts_ns": at * pitch, "dur_ns": length} for at, name in enumerate(names)]


def codes(names: str) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array([ord(name) for name in names], np.int32)


def test_three_rounds_of_three_kernels_are_three_steps() -> None:
    made = capture(kernel=kernels("ABCABCABC"))

    ensure_steps(made)

    steps = [(row["ts_ns"], row["dur_ns"], row["origin"], row["step"]) for row in made.rows("step").to_dicts()]
    assert steps == [(0, 30, "inferred", None), (30, 30, "inferred", None), (60, 28, "inferred", None)]


def test_a_started_round_at_the_end_belongs_to_no_step() -> None:
    made = capture(kernel=kernels("ABCABCAB"))

    ensure_steps(made)

    assert list(zip(column(made, "step", "ts_ns"), column(made, "step", "dur_ns"), strict=True)) == [(0, 30), (30, 30)]


def test_the_capture_says_that_its_steps_were_not_marked() -> None:
    made = capture(kernel=kernels("ABAB"))

    ensure_steps(made)

    (entry,) = made.coverage
    assert (entry.table_name, entry.state) == ("step", "missing")
    assert "step()" in entry.turn_on


def test_marked_steps_are_left_alone() -> None:
    marks = [{"ts_ns": 0, "dur_ns": 90, "origin": "mark", "step": 7}]
    made = capture(kernel=kernels("ABCABCABC"), step=marks)

    ensure_steps(made)

    assert column(made, "step", "step") == [7]
    assert made.coverage == []


def test_collectives_copies_and_waits_do_not_disturb_the_rhythm() -> None:
    drawn = kernels("AXBABYZABAB")
    kinds = {"X": "communication", "Y": "copy", "Z": "sync"}
    for row in drawn:
        row["kind"] = kinds.get(row["name"], "compute")
    made = capture(kernel=drawn)

    ensure_steps(made)

    assert column(made, "step", "ts_ns") == [0, 30, 70, 90]


def test_streams_are_read_in_order_of_time() -> None:
    drawn = kernels("ABABAB")
    made = capture(kernel=drawn[::-1])

    ensure_steps(made)

    assert column(made, "step", "ts_ns") == [0, 20, 40]


@pytest.mark.parametrize(
    ("names", "lag"),
    [
        ("ABCABCABC", 3),
        ("ABABABAB", 2),
        ("AAB" * 4, 3),
        ("ABCDEABCDE", 5),
        ("ABABABABABABC" * 3, 13),  # a layer repeats inside the step: the whole step matches better
        ("X" + "ABC" * 20, 3),  # something before the first step
        ("ABCDEFGHIJ" * 5 + "ABCDEFGHIK" + "ABCDEFGHIJ" * 5, 10),  # one step differs in one kernel
    ],
)
def test_the_period_is_the_lag_that_matches_best(names: str, lag: int) -> None:
    assert period(codes(names)) == lag


@pytest.mark.parametrize("names", ["", "A", "AB", "AAAAAA", "ABCDEF", "ABCABD", "ABCAB", "ABCDABDCBADC"])
def test_what_does_not_repeat_has_no_period(names: str) -> None:
    assert period(codes(names)) is None


@given(st.lists(st.sampled_from("ABCDEFGH"), min_size=2, max_size=8, unique=True), st.integers(2, 6))
def test_rounds_of_different_kernels_have_their_length_as_period(names: list[str], rounds: int) -> None:
    assert period(codes("".join(names) * rounds)) == len(names)


STEPS = [{"ts_ns": 0, "dur_ns": 100, "origin": "mark"}, {"ts_ns": 100, "dur_ns": 100, "origin": "mark"}]


def test_a_kernel_belongs_to_the_step_that_launched_it_even_when_it_runs_in_the_next() -> None:
    made = capture(
        step=STEPS,
        host_call=slices("main", ("launch", 90, 95), ("launch", 110, 115)),
        kernel=[
            {"ts_ns": 120, "dur_ns": 5, "host_call_id": 0},
            {"ts_ns": 130, "dur_ns": 5, "host_call_id": 1},
        ],
    )

    assign_steps(made)

    assert column(made, "kernel", "step_id") == [0, 1]


def test_the_operator_decides_over_the_call_that_came_later_through_a_queue() -> None:
    made = capture(
        step=STEPS,
        operator=slices("main", ("mm", 80, 90)),
        host_call=slices("acl", ("launch", 105, 106)),
        kernel=[{"ts_ns": 120, "dur_ns": 5, "host_call_id": 0, "operator_id": 0}],
    )

    assign_steps(made)

    assert column(made, "kernel", "step_id") == [0]


def test_without_a_link_the_step_in_which_it_starts_counts() -> None:
    starts = [-1, 0, 99, 100, 199, 200]
    made = capture(step=STEPS, kernel=[{"ts_ns": start, "dur_ns": 50} for start in starts])

    assign_steps(made)

    assert column(made, "kernel", "step_id") == [None, 0, 0, 1, 1, None]


def test_between_two_marked_steps_a_kernel_belongs_to_none() -> None:
    made = capture(
        step=[{"ts_ns": 0, "dur_ns": 50}, {"ts_ns": 80, "dur_ns": 20}],
        kernel=[{"ts_ns": start, "dur_ns": 1} for start in (49, 50, 79, 80)],
    )

    assign_steps(made)

    assert column(made, "kernel", "step_id") == [0, None, None, 1]


def test_a_step_that_the_file_names_is_kept() -> None:
    made = capture(step=STEPS, kernel=[{"ts_ns": 10, "dur_ns": 5, "step_id": 1}, {"ts_ns": 10, "dur_ns": 5}])

    assign_steps(made)

    assert column(made, "kernel", "step_id") == [1, 0]


def test_a_link_to_a_call_that_is_not_there_counts_as_none() -> None:
    made = capture(
        step=STEPS,
        host_call=slices("main", ("launch", 10, 12)),
        kernel=[{"ts_ns": 150, "dur_ns": 5, "host_call_id": 8}],
    )

    assign_steps(made)

    assert column(made, "kernel", "step_id") == [1]
