"""A35: the parts of a difference, counted by hand; whatever the runs, they add up."""

from __future__ import annotations

from hypothesis import given, strategies as st
from msgspec.structs import replace

from ascend_sn.compare.attribution import Attribution, Contribution, attribution
from ascend_sn.compare.figures import RunFigures
from tests.unit.compare.made import run_of, work


def divided(base: list[RunFigures], candidate: list[RunFigures], base_ns: int, candidate_ns: int) -> Attribution:
    found = attribution(base, candidate, base_ns, candidate_ns)
    assert found is not None
    return found


def row(found: Attribution, name: str) -> Contribution:
    (one,) = [row for row in found.rows if row.name == name]
    return one


def test_calls_and_mean_split_as_in_the_definition() -> None:
    base, candidate = run_of([100], work("A", 10, 50)), run_of([122], work("A", 12, 72))

    found = divided([base], [candidate], 100, 122)

    assert (row(found, "A").calls_ns, row(found, "A").mean_ns, row(found, "A").delta_ns) == (10, 12, 22)
    assert found.explained_ratio == 1.0


def test_new_and_removed_operators_count_whole() -> None:
    base, candidate = run_of([100], work("A", 2, 30), work("B", 1, 5)), run_of([110], work("A", 2, 30), work("C", 3, 9))

    found = divided([base], [candidate], 100, 110)

    assert {(one.name, one.state, one.delta_ns) for one in found.rows} == {
        ("A", "both", 0), ("B", "removed", -5), ("C", "new", 9), ("host_python", "both", 6)
    }  # fmt: skip


def test_several_steps_are_a_mean_and_the_median_has_its_own_row() -> None:
    base = run_of([100, 100, 130], work("A", 3, 90))
    candidate = run_of([120, 120, 120], work("A", 3, 150))

    found = divided([base], [candidate], 100, 120)

    # Mean 110 -> 120: A from 30 to 50, free from 80 to 70; the median starts 10 below the mean.
    assert {one.name: one.delta_ns for one in found.rows} == {"A": 20, "host_python": -10, "uneven": 10}


def test_kernels_beside_each_other_share_a_row() -> None:
    base = run_of([100], work("A", 1, 50), work("B", 1, 50), compute_ns=60, free={"host_python": 40})
    candidate = run_of([110], work("A", 1, 50), work("B", 1, 50), compute_ns=100, free={"host_python": 10})

    found = divided([base], [candidate], 100, 110)

    assert row(found, "concurrent").delta_ns == 40
    assert sum(one.delta_ns for one in found.rows) == 10


def test_shapes_and_modules_tell_operators_apart_where_both_have_them() -> None:
    base = run_of([100], work("A", 1, 10, shapes="2,2", module="m"), work("A", 1, 20, shapes="4,4", module="m"))
    candidate = run_of([105], work("A", 1, 10, shapes="2,2", module="m"), work("A", 1, 25, shapes="4,4", module="m"))

    found = divided([base], [candidate], 100, 105)

    assert found.matched_by == "op, shape, module"
    assert [(one.shapes, one.delta_ns) for one in found.rows if one.delta_ns] == [("4,4", 5)]


def test_changed_shapes_fall_back_to_the_operator() -> None:
    base, candidate = run_of([100], work("A", 1, 10, shapes="2,2")), run_of([120], work("A", 1, 30, shapes="8,8"))

    found = divided([base], [candidate], 100, 120)

    assert (found.matched_by, row(found, "A").mean_ns) == ("op", 20)


def test_two_kinds_of_device_meet_at_the_framework_operator() -> None:
    npu = run_of([100], work("MatMulV2", 1, 10, operator="aten::mm"))
    cuda = run_of([105], work("ampere_sgemm_128", 1, 15, operator="aten::mm"), device_kinds=["cuda"])

    found = divided([npu], [cuda], 100, 105)

    assert (found.matched_by, found.matched_ratio, row(found, "MatMul").delta_ns) == ("operator", 1.0, 5)


def test_without_kernels_there_is_nothing_to_divide() -> None:
    run = run_of([100], parts=None)

    assert attribution([run], [run], 100, 100) is None


TIMES = st.integers(0, 10**9)
ROWS = st.lists(st.tuples(st.sampled_from("ABCDE"), st.integers(1, 50), TIMES), max_size=6)
RUNS = st.lists(
    st.builds(
        lambda durations, rows, extra: run_of(
            durations, *(work(*one) for one in rows), free={"data_wait": extra}, compute_ns=extra // 2
        ),
        st.lists(TIMES, min_size=1, max_size=7),
        ROWS,
        TIMES,
    ),
    min_size=1,
    max_size=4,
)


@given(RUNS, RUNS, TIMES, TIMES)
def test_the_parts_add_up_whatever_the_runs(
    base: list[RunFigures], candidate: list[RunFigures], base_ns: int, candidate_ns: int
) -> None:
    whole = [_consistent(run) for run in base], [_consistent(run) for run in candidate]

    found = divided(*whole, base_ns, candidate_ns)

    assert sum(one.delta_ns for one in found.rows) == candidate_ns - base_ns
    assert all(
        one.delta_ns == (one.calls_ns or 0) + (one.mean_ns or 0) for one in found.rows if one.calls_ns is not None
    )


@given(RUNS)
def test_a_run_against_itself_has_no_parts(runs: list[RunFigures]) -> None:
    found = divided(runs, runs, 7, 7)

    assert {one.delta_ns for one in found.rows} <= {0}


def _consistent(run: RunFigures) -> RunFigures:
    """Let the window be the sum of its parts, as in a breakdown it is."""
    assert run.parts is not None
    parts = run.parts
    window = parts.compute_ns + parts.exposed_comm_ns + parts.exposed_copy_ns + sum(parts.free.values())
    return replace(run, parts=replace(parts, window_ns=window))
