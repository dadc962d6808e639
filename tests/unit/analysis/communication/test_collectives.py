"""A14: what a collective did: dur = transit + wait + idle; unknown parts stay unknown."""

from __future__ import annotations

from typing import Any

import pytest
from duckdb import DuckDBPyConnection

from tests.timeline import empty_tables, timeline
from tests.unit.analysis.rows import collective, group, profile, results

MS = 1_000_000


def two_ranks(*, one_host: bool = True, exact: bool = True) -> DuckDBPyConnection:
    db = empty_tables()
    for rank in (0, 1):
        profile(db, rank, **({"host": "host-0"} if one_host else {}))
    group(db, "g", 2, 0, 1, exact=exact)
    return db


def parts(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["transit_ns"], row["wait_ns"], row["idle_ns"], row["method"]


def test_from_all_members() -> None:
    db = two_ranks()
    collective(db, 0, 0, 10 * MS, 30 * MS, size_bytes=48_000_000)
    collective(db, 1, 0, 24 * MS, 30 * MS, size_bytes=48_000_000)

    first, last = results("collective_parts", db)

    assert parts(first) == (6 * MS, 14 * MS, 0, "members")
    assert parts(last) == (6 * MS, 0, 0, "members")
    assert (first["algbw_bytes_per_s"], first["busbw_bytes_per_s"]) == (8e9, 8e9)
    assert (first["members_present"], first["members_expected"], first["members_exact"]) == (2, 2, True)


def test_who_ends_later_was_idle_after_the_first_had_ended() -> None:
    db = two_ranks()
    collective(db, 0, 0, 0, 50)
    collective(db, 1, 0, 20, 60)

    found = results("collective_parts", db)

    assert [parts(row) for row in found] == [(30, 20, 0, "members"), (30, 0, 10, "members")]
    assert all(row["transit_ns"] + row["wait_ns"] + row["idle_ns"] == row["dur_ns"] for row in found)
    assert [row["sync_ns"] for row in found] == [20, 0]


def test_recorded_parts_stay_as_they_were_recorded() -> None:
    db = two_ranks()
    recorded = {"transit_ns": 3, "wait_ns": 5, "sync_ns": 4, "idle_ns": 12, "method": "recorded"}
    collective(db, 0, 0, 0, 20, **recorded)
    collective(db, 1, 0, 0, 20, **recorded)

    found = results("collective_parts", db)

    assert [(*parts(row), row["sync_ns"]) for row in found] == [(3, 5, 12, "recorded", 4)] * 2


def test_with_a_member_absent_the_parts_are_unknown_and_not_zero() -> None:
    db = empty_tables()
    for rank in (0, 1):
        profile(db, rank, host="host-0")
    group(db, "g", 3, 0, 1)
    collective(db, 0, 0, 10, 30)
    collective(db, 1, 0, 24, 30)

    found = results("collective_parts", db)

    assert [parts(row) for row in found] == [(None, None, None, None)] * 2
    assert {(row["members_present"], row["members_expected"]) for row in found} == {(2, 3)}
    assert [row["busbw_bytes_per_s"] for row in found] == [None, None]


def test_a_group_whose_size_is_only_a_lower_bound_is_never_complete() -> None:
    db = two_ranks(exact=False)
    collective(db, 0, 0, 10, 30)
    collective(db, 1, 0, 24, 30)

    found = results("collective_parts", db)

    assert [parts(row) for row in found] == [(None, None, None, None)] * 2
    assert [row["members_exact"] for row in found] == [False, False]


def test_calls_are_matched_by_group_and_sequence_and_not_by_order() -> None:
    db = two_ranks()
    collective(db, 0, 7, 0, 10)
    collective(db, 0, 8, 10, 30)
    collective(db, 1, 8, 25, 30)
    collective(db, 1, 9, 40, 50)

    found = {(row["rank"], row["sequence"]): row for row in results("collective_parts", db)}

    assert parts(found[0, 8]) == (5, 15, 0, "members")
    assert parts(found[0, 7]) == parts(found[1, 9]) == (None, None, None, None)


def test_without_a_sequence_number_calls_are_not_matched() -> None:
    db = two_ranks()
    collective(db, 0, 0, 10, 30, sequence=None)
    collective(db, 1, 0, 24, 30, sequence=None)

    assert [row["method"] for row in results("collective_parts", db)] == [None, None]


def test_a_member_that_had_ended_before_the_last_one_began_shows_that_the_clocks_differ() -> None:
    db = two_ranks()
    collective(db, 0, 0, 10, 20)
    collective(db, 1, 0, 25, 30)

    assert [row["method"] for row in results("collective_parts", db)] == [None, None]


def test_clocks_of_two_hosts_are_aligned_by_the_ends_of_three_calls() -> None:
    db = two_ranks(one_host=False)
    skew = 5_000_000
    for number, (start, late_start, end) in enumerate([(0, 40, 100), (200, 230, 300), (400, 460, 500)]):
        collective(db, 0, number, start, end)
        collective(db, 1, number, late_start + skew, end + skew)

    found = results("collective_parts", db)

    assert [parts(row) for row in found if row["rank"] == 0] == [
        (60, 40, 0, "members"),
        (70, 30, 0, "members"),
        (40, 60, 0, "members"),
    ]


def test_clocks_of_two_hosts_are_not_aligned_by_two_calls() -> None:
    db = two_ranks(one_host=False)
    for number in range(2):
        collective(db, 0, number, number * 100, number * 100 + 50)
        collective(db, 1, number, number * 100 + 10, number * 100 + 50)

    assert {row["method"] for row in results("collective_parts", db)} == {None}


@pytest.mark.parametrize("op", ["send", "receive", "sendrecv", "batchsendrecv", "unknown"])
def test_a_send_of_the_same_number_is_not_the_call_of_the_other_member(op: str) -> None:
    db = two_ranks()
    collective(db, 0, 0, 0, 50, op=op)
    collective(db, 1, 0, 10, 50, op=op)

    assert {(row["method"], row["transit_ns"], row["wait_ns"]) for row in results("collective_parts", db)} == {
        (None, None, None)
    }


@pytest.mark.parametrize(
    ("op", "factor"),
    [
        ("allreduce", 1.5),
        ("allgather", 0.75),
        ("reducescatter", 0.75),
        ("alltoall", 0.75),
        ("alltoallv", 0.75),
        ("broadcast", 1.0),
        ("reduce", 1.0),
        ("send", None),
    ],
)
def test_bus_bandwidth_of_four_ranks(op: str, factor: float | None) -> None:
    db = empty_tables()
    profile(db, 0)
    group(db, "g", 4, 0)
    collective(db, 0, 0, 0, 2_000, op=op, size_bytes=4_000, transit_ns=1_000, method="recorded")

    (row,) = results("collective_parts", db)

    assert row["algbw_bytes_per_s"] == 4e9
    assert row["busbw_bytes_per_s"] == (None if factor is None else 4e9 * factor)


def test_a_transit_that_is_unknown_or_zero_gives_no_bandwidth() -> None:
    db = two_ranks()
    collective(db, 0, 0, 0, 20, size_bytes=100, method="recorded", wait_ns=1)
    collective(db, 0, 1, 30, 50, size_bytes=100, method="recorded", transit_ns=0)

    assert [row["algbw_bytes_per_s"] for row in results("collective_parts", db)] == [None, None]


def test_clock_offsets_and_what_they_leave_open() -> None:
    db = empty_tables()
    for rank in range(4):
        profile(db, rank)
    for number, jitter in enumerate([0, 2, -2, 0, 0]):
        collective(db, 0, number, number * 1_000, number * 1_000 + 100)
        collective(db, 1, number, number * 1_000 + 700, number * 1_000 + 800 + jitter)
    for number in range(3):
        collective(db, 2, number, number * 1_000 - 350, number * 1_000 - 200, group_id="h")
        collective(db, 1, number + 10, number * 1_000 + 20, number * 1_000 + 120, group_id="h", sequence=number)

    found = {row["rank"]: row for row in results("clock_offsets", db)}

    assert (found[0]["offset_ns"], found[0]["error_ns"], found[0]["method"]) == (0, 0, "reference")
    assert (found[1]["offset_ns"], found[1]["calls"], found[1]["method"]) == (700, 5, "collectives")
    # Differences 0 2 -2 0 0 from 700: their deviation is the root of 8 / 4; x 1.2533 / root of 5 x 4.604 = 3.65.
    assert found[1]["error_ns"] == 4
    assert (found[2]["offset_ns"], found[2]["method"]) == (700 - 320, "collectives")  # through rank 1
    assert (found[3]["offset_ns"], found[3]["method"]) == (None, "unknown")
    assert "no collectives" in found[3]["reason"]


def test_summary_by_primitive() -> None:
    db = timeline(
        """
        r0 step |1111111111111111111111111|
        r0 s1   |.AAAAAAAA.......BB.......|
        """
    )
    group(db, "g", 2, 0)
    recorded = {"method": "recorded"}
    collective(db, 0, 0, 5, 15, size_bytes=100, transit_ns=4, wait_ns=5, idle_ns=1, **recorded)
    collective(db, 0, 1, 14, 18, size_bytes=200, transit_ns=2, wait_ns=0, idle_ns=2, **recorded)
    collective(db, 0, 2, 20, 23, size_bytes=50, op="broadcast")

    reduce, broadcast = results("communication_summary", db)

    assert {name: reduce[name] for name in ("op", "calls", "total_ns", "mean_ns", "size_bytes")} == {
        "op": "allreduce",
        "calls": 2,
        "total_ns": 14,
        "mean_ns": 7,
        "size_bytes": 300,
    }
    assert (reduce["transit_ns"], reduce["wait_ns"], reduce["idle_ns"], reduce["unknown_ns"]) == (6, 5, 3, 0)
    # [5,18) with the calls, of which [5,9) and [16,18) are under compute.
    assert (reduce["exposed_ns"], reduce["window_ns"]) == (7, 25)
    assert (reduce["share_ratio"], reduce["exposed_share_ratio"]) == (14 / 25, 7 / 25)
    assert (broadcast["op"], broadcast["unknown_ns"], broadcast["transit_ns"]) == ("broadcast", 3, None)
    assert (broadcast["members_present"], broadcast["members_expected"]) == (1, 2)


def test_what_runs_outside_the_steps_is_elapsed_but_not_exposed_in_a_step() -> None:
    db = timeline("r0 step |..1111....|\n r0 s1 |..AA......|")
    collective(db, 0, 0, 0, 3)
    collective(db, 0, 1, 5, 9)

    (summed,) = results("communication_summary", db)

    assert (summed["total_ns"], summed["exposed_ns"], summed["window_ns"]) == (7, 1, 4)
