"""Calls of the host joined by their path."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings, strategies as st

from ascend_sn.analysis.host.call_paths import call_paths, call_tree_of
from ascend_sn.analysis.host.call_tree import CallTree, callers_of, merged
from tests.unit.analysis.traces import Row, captures, check_laws, database, kernel, numbered, operator, results, step


def span(name: str, ts_ns: int, dur_ns: int, **more: Any) -> Row:
    return ("span", {"name": name, "domain": "python", "thread": "main", "ts_ns": ts_ns, "dur_ns": dur_ns, **more})


def drawn() -> list[Row]:
    """Two steps on the thread `main`, and a backward thread.

    main     |ffffffffff|fffffffffffff   f: train, a Python frame from 0 to 24
             |.LLLLLL...|.LLLLLLLLL..|   L: linear, 6 and 9
             |..mm.a....|.mmmm.......|   m: mm, 2 and 4; a: add, 1
    autograd |.......bbb|............|   b: mm, 3
    kernels: 10 ns by the first mm, 20 by the second, 5 by the add, 7 by the second linear itself, 3 by b.
    """
    return numbered([
        step(0, 10, 1), step(10, 14, 2),
        span("train.py(3): train", 0, 24),
        operator("linear", 1, 6), operator("mm", 2, 2), operator("add", 5, 1),
        operator("linear", 11, 9), operator("mm", 11, 4),
        operator("mm", 7, 3, thread="autograd"),
        kernel(30, 10, operator_id=1), kernel(40, 5, operator_id=2), kernel(50, 20, operator_id=4),
        kernel(70, 7, "copy", "copy", operator_id=3), kernel(80, 3, operator_id=5),
        kernel(90, 50, "R", "communication", operator_id=3),
    ])  # fmt: skip


def shown(tree: CallTree) -> list[tuple[str, int, int, int, int, int]]:
    """Path, calls, total, self, device and own device ns."""
    return [
        (">".join(tree.names_above(at)), tree.calls[at], tree.total_ns[at], tree.self_ns[at], tree.device_ns[at],
         tree.device_self_ns[at])
        for at in range(len(tree))
    ]  # fmt: skip


def test_calls_of_a_path_are_one_with_what_they_call_and_launch() -> None:
    found = results(call_paths, drawn())

    figures = ("path", "depth", "calls", "total_ns", "self_ns", "device_ns", "device_self_ns")
    train = "train.py(3): train"
    assert [tuple(row[name] for name in figures) for row in found] == [
        (train, 0, 1, 24, 9, 42, 0),
        (f"{train} > linear", 1, 2, 15, 8, 42, 7),
        (f"{train} > linear > mm", 2, 2, 6, 6, 30, 30),
        (f"{train} > linear > add", 2, 1, 1, 1, 5, 5),
        ("mm", 0, 1, 3, 3, 3, 3),
    ]
    longest = [(row["longest_table"], row["longest_key"], row["longest_ns"]) for row in found]
    assert longest == [("span", 0, 24), ("operator", 3, 9), ("operator", 4, 4), ("operator", 2, 1), ("operator", 5, 3)]


def test_a_range_that_is_an_operator_as_well_is_one_call() -> None:
    rows = [
        *(operator(name, at, dur) for name, at, dur in (("forward", 0, 10), ("matmul", 2, 4))),
        *(span(name, at, dur) for name, at, dur in (("forward", 0, 10), ("matmul", 2, 4), ("matmul", 7, 1))),
        span("elsewhere", 0, 3, thread=None),
    ]

    found = results(call_paths, numbered(rows))

    assert [(row["path"], row["calls"], row["total_ns"], row["self_ns"]) for row in found] == [
        ("forward", 1, 10, 5), ("forward > matmul", 2, 5, 5), ("elsewhere", 1, 3, 3),
    ]  # fmt: skip


def test_a_range_of_steps_counts_what_lies_inside() -> None:
    first, second = (call_tree_of(database(drawn()), 0, (number, number)) for number in (1, 2))

    train = "train.py(3): train"
    assert shown(first) == [
        (train, 1, 10, 4, 15, 0), (f"{train}>linear", 1, 6, 3, 15, 0), (f"{train}>linear>mm", 1, 2, 2, 10, 10),
        (f"{train}>linear>add", 1, 1, 1, 5, 5), ("mm", 1, 3, 3, 3, 3),
    ]  # fmt: skip
    assert shown(second) == [
        (train, 1, 14, 5, 27, 0), (f"{train}>linear", 1, 9, 5, 27, 7), (f"{train}>linear>mm", 1, 4, 4, 20, 20)
    ]  # fmt: skip
    assert len(call_tree_of(database(drawn()), 0, (7, 9))) == 0


def test_callers_stand_below_what_they_call_and_divide_its_own_time() -> None:
    turned = callers_of(call_tree_of(database(drawn()), 0))

    # mm takes 6 below linear and 3 as the outermost call of its thread.
    assert [row for row in shown(turned) if row[0].startswith("mm")] == [
        ("mm", 3, 9, 9, 33, 33),
        ("mm>linear", 2, 6, 6, 30, 30),
        ("mm>linear>train.py(3): train", 2, 6, 6, 30, 30),
    ]
    assert [(row[0], row[2]) for row in shown(turned) if ">" not in row[0]] == [
        ("mm", 9), ("train.py(3): train", 9), ("linear", 8), ("add", 1)
    ]  # fmt: skip


def test_the_same_paths_of_several_profiles_are_joined() -> None:
    own = call_tree_of(database(drawn()), 0)

    assert shown(merged([own, own])) == [(row[0], *(2 * value for value in row[1:])) for row in shown(own)]
    assert shown(merged([])) == []


def test_numbers_of_steps_and_addresses_do_not_part_paths() -> None:
    found = results(call_paths, numbered([
        span("ProfilerStep#1", 0, 5), span("ProfilerStep#2", 5, 5),
        span("<built-in method item of Tensor object at 0xffff01>", 1, 2),
        span("<built-in method item of Tensor object at 0xffff99>", 6, 3),
        span("all_reduce", 0, 9, domain="gpu_annotation"),
    ]))  # fmt: skip

    assert [(row["path"], row["calls"], row["total_ns"], row["device_ns"]) for row in found] == [
        ("ProfilerStep", 2, 10, None),
        ("ProfilerStep > <built-in method item of Tensor object>", 2, 5, None),
    ]


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 12), st.sampled_from("abc")), max_size=15), captures())
def test_self_times_sum_to_what_the_threads_were_busy(calls: list[tuple[int, int, str]], capture: list[Row]) -> None:
    rows = numbered([operator(name, ts_ns, dur_ns) for ts_ns, dur_ns, name in calls])
    busy = len({moment for ts_ns, dur_ns, _ in calls for moment in range(ts_ns, ts_ns + dur_ns)})

    found = results(call_paths, rows)

    assert sum(row["calls"] for row in found) == len(calls)
    assert sum(row["self_ns"] for row in found) >= busy  # crossing calls run at a time
    turned = callers_of(call_tree_of(database(rows), 0))
    outermost = [at for at in range(len(turned)) if turned.parent[at] < 0]
    assert sum(turned.total_ns[at] for at in outermost) == sum(row["self_ns"] for row in found)
    check_laws(call_paths, [rows, [(table, {**values, "profile_id": 1}) for table, values in capture]])
