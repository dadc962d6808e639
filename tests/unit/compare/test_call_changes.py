"""Call paths of two runs matched by name."""

from __future__ import annotations

from ascend_sn.analysis.host.call_paths import call_tree_of
from ascend_sn.analysis.host.call_tree import CallTree
from ascend_sn.compare.call_changes import CallChanges, call_changes
from tests.unit.analysis.traces import Row, database, kernel, numbered, operator


def tree(*rows: Row) -> CallTree:
    return call_tree_of(database(numbered(rows)), 0)


def told(changes: CallChanges) -> list[tuple[str, float, float]]:
    return [
        (">".join(changes.names_above(at)), changes.base_ns[at], changes.candidate_ns[at]) for at in range(len(changes))
    ]


BASE = tree(
    operator("train", 0, 20), operator("mm", 1, 8), operator("sum", 10, 4), operator("load", 30, 6),
    kernel(50, 40, operator_id=1),
)  # fmt: skip
CANDIDATE = tree(
    operator("train", 0, 40), operator("mm", 1, 9), operator("save", 20, 10), kernel(50, 30, operator_id=1)
)  # fmt: skip


def test_paths_of_both_stand_beside_each_other_the_longest_first() -> None:
    assert told(call_changes(BASE, CANDIDATE)) == [
        ("train", 20, 40), ("train>mm", 8, 9), ("train>save", 0, 10), ("train>sum", 4, 0), ("load", 6, 0)
    ]  # fmt: skip


def test_times_are_divided_by_the_steps_of_their_run() -> None:
    found = call_changes(BASE, CANDIDATE, per_base=2, per_candidate=5)

    assert told(found)[0] == ("train", 10, 8)
    assert dict((path, (one, other)) for path, one, other in told(found))["load"] == (3, 0)


def test_device_time_is_compared_in_the_place_of_host_time() -> None:
    found = {path: (one, other) for path, one, other in told(call_changes(BASE, CANDIDATE, device=True))}

    assert (found["train"], found["train>mm"], found["load"]) == ((40, 30), (40, 30), (0, 0))


def test_places_lead_back_to_the_trees() -> None:
    changes = call_changes(BASE, CANDIDATE)

    assert [CANDIDATE.name[at] if at >= 0 else None for at in changes.candidate] == ["train", "mm", "save", None, None]
    assert [BASE.name[at] if at >= 0 else None for at in changes.base] == ["train", "mm", None, "sum", "load"]
    assert told(call_changes(CallTree(), CallTree())) == []
