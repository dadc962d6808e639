"""Facts: results whole, cut in Python, of one profile; questions that are asked once."""

from __future__ import annotations

import msgspec
from duckdb import DuckDBPyConnection

from ascend_sn.advisor.facts import Facts, asked_once
from tests.timeline import empty_tables, timeline
from tests.unit.report.drawn import DrawnRun


class _Kernels(msgspec.Struct):
    profile_id: int
    op_type: str
    calls: int


def drawn() -> DuckDBPyConnection:
    return timeline(
        """
        r0 s1 |AAA.BB.A..|
        r1 s1 |CCCC......|
        """
    )


def test_a_result_comes_whole_or_as_the_rows_for_which_something_holds() -> None:
    facts = Facts(DrawnRun(drawn()))

    whole = facts.rows("kernel_statistics", _Kernels)
    often = facts.rows("kernel_statistics", _Kernels, lambda row: row["calls"] > 1)

    assert whole == [_Kernels(0, "A", 2), _Kernels(0, "B", 1), _Kernels(1, "C", 1)]
    assert often == [_Kernels(0, "A", 2)]


def test_rows_of_one_profile_are_those_of_the_whole_result() -> None:
    facts = Facts(DrawnRun(drawn()))

    assert [(row["op_type"], row["calls"]) for row in facts.rows_of("kernel_statistics", 0)] == [("A", 2), ("B", 1)]
    assert facts.rows_of("kernel_statistics", 7) == []


def test_an_absent_result_has_no_rows() -> None:
    facts = Facts(DrawnRun(empty_tables()))

    assert facts.missing("kernel_statistics") is not None
    assert facts.rows("kernel_statistics", _Kernels) == []
    assert facts.rows_of("kernel_statistics", 0) == []
    assert not facts.has_rows("kernel")


def test_a_table_with_rows_is_known_to_have_them() -> None:
    assert Facts(DrawnRun(drawn())).has_rows("kernel")


def test_a_question_is_asked_once_for_the_same_arguments() -> None:
    asked: list[tuple[int, int]] = []

    @asked_once
    def sums(_facts: Facts, one: int, *, other: int) -> int:
        asked.append((one, other))
        return one + other

    facts = Facts(DrawnRun(empty_tables()))

    assert [sums(facts, 1, other=2), sums(facts, 1, other=2), sums(facts, 2, other=2)] == [3, 3, 4]
    assert sums(Facts(DrawnRun(empty_tables())), 1, other=2) == 3
    assert asked == [(1, 2), (2, 2), (1, 2)]
