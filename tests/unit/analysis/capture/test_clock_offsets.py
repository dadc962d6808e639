"""Clocks are aligned through collectives: the offset, the error that remains, and when neither can be known."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from statistics import median
from typing import Any

import pytest
from duckdb import DuckDBPyConnection
from hypothesis import given, settings, strategies as st

from ascend_sn.analysis.capture.clock_offsets import offsets_between
from tests.timeline import empty_tables
from tests.unit.analysis.rows import collective, profile, results

EPOCH = 1_760_000_000_000_000_001
"""A date in ns: a float64 holds only every 256th."""


def ranks(*hosts: str | None) -> DuckDBPyConnection:
    db = empty_tables()
    for rank, host in enumerate(hosts):
        profile(db, rank, **({} if host is None else {"host": host}))
    return db


def calls(db: DuckDBPyConnection, rank: int, ends: Sequence[int], *, dur: int = 100, **values: Any) -> None:
    """One collective per end time; `first` numbers them where a rank is in several groups."""
    first = values.pop("first", 0)
    for sequence, end in enumerate(ends):
        collective(db, rank, first + sequence, end - dur, end, sequence=sequence, **values)


def offsets(db: DuckDBPyConnection) -> list[tuple[int | None, int | None, int, str]]:
    names = ("offset_ns", "error_ns", "calls", "method")
    return [tuple(row[name] for name in names) for row in results("clock_offsets", db)]


def test_the_offset_is_whole_nanoseconds_of_a_date() -> None:
    db = ranks(None, None)
    calls(db, 0, [EPOCH, EPOCH + 1_000, EPOCH + 2_000])
    calls(db, 1, [EPOCH + 333, EPOCH + 1_333, EPOCH + 2_333])

    assert offsets(db) == [(0, 0, 0, "reference"), (333, 0, 3, "collectives")]


def test_the_error_is_what_the_ends_leave_open() -> None:
    db = ranks(None, None)
    calls(db, 0, [1_000, 2_000, 3_000, 4_000, 5_000])
    calls(db, 1, [1_100, 2_104, 3_096, 4_108, 5_092])

    # Differences 100 104 96 108 92: their deviation is the root of 160 / 4, that of their median 1.2533 / root of 5 of
    # it; with five values 99 % lie within 4.604 deviations: 16.32.
    assert offsets(db)[1] == (100, 16, 5, "collectives")


def test_between_an_even_number_of_differences_the_offset_is_their_middle() -> None:
    db = ranks(None, None)
    calls(db, 0, [1_000, 2_000, 3_000, 4_000])
    calls(db, 1, [1_010, 2_010, 3_020, 4_020])

    # Differences 10 10 20 20: middle 15, their deviation the root of 100 / 3; x 1.2533 / 2 x 5.841 = 21.13.
    assert offsets(db)[1] == (15, 21, 4, "collectives")


def test_the_order_of_many_ends_tells_the_error_whatever_their_distribution() -> None:
    db = ranks(None, None)
    late = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10_000]
    calls(db, 0, [20_000 * at for at in range(12)], dur=100)
    calls(db, 1, [20_000 * at + late[at] for at in range(12)], dur=100)

    # Of 12 fair coins 0, 1, 11 or 12 show heads in 26 of 4,096 throws, so the median of ever more differences lies
    # between the second and the second to last: 1 and 10. The middle is 5.5, in whole nanoseconds 5.
    assert offsets(db)[1] == (5, 5, 12, "collectives")


def test_the_error_is_no_less_than_the_spread_of_single_ends() -> None:
    db = ranks(None, None)
    calls(db, 0, [1_000 * at for at in range(100)], dur=100)
    calls(db, 1, [1_000 * at + at % 2 * 20 for at in range(100)], dur=100)

    # Every other one is 0 and 20: middle 10, every deviation 10, x 1.4826.
    assert offsets(db)[1] == (10, 15, 100, "collectives")


@pytest.mark.parametrize("op", ["send", "receive", "sendrecv", "batchsendrecv", "unknown"])
def test_the_same_number_of_a_send_on_two_ranks_is_two_messages(op: str) -> None:
    db = ranks(None, None)
    for rank in (0, 1):
        calls(db, rank, [1_000, 2_000, 3_000], op=op)

    assert offsets(db)[1][3] == "unknown"


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_the_true_offset_is_within_the_error_in_99_of_100_jobs(steps: int) -> None:
    # Jobs of 16 ranks on clocks of their own, three calls a step, ends up to 5 us apart.
    random = Random(steps)
    inside = counted = 0
    for _ in range(100):
        clocks = [0] + [random.randrange(-(10**9), 10**9) for _ in range(15)]
        ends = [EPOCH + 50_000 * number for number in range(3 * steps)]
        rows = [
            (rank, number, end + clock + random.randrange(5_001))
            for rank, clock in enumerate(clocks)
            for number, end in enumerate(ends)
        ]
        columns: dict[str, list[Any]] = {
            "profile_id": [rank for rank, _, _ in rows],
            "rank": [rank for rank, _, _ in rows],
            "host": [None for _ in rows],
            "group_id": ["g" for _ in rows],
            "op": ["allreduce" for _ in rows],
            "sequence": [number for _, number, _ in rows],
            "ts_ns": [end - 40_000 for _, _, end in rows],
            "dur_ns": [40_000 for _ in rows],
        }
        found = offsets_between(columns)
        assert [row["method"] for row in found] == ["reference"] + ["collectives"] * 15
        inside += sum(abs(row["offset_ns"] - clocks[row["rank"]]) <= row["error_ns"] for row in found[1:])
        counted += 15

    assert inside >= 0.99 * counted


def test_errors_add_up_on_the_way_to_the_reference() -> None:
    db = ranks(None, None, None)
    for rank, group_id in ((0, "a"), (1, "a"), (1, "b"), (2, "b")):
        jitter = [0, 4, -4, 8, -8] if (rank, group_id) in ((1, "a"), (2, "b")) else [0] * 5
        ends = [1_000 * at + 70 * rank + shift for at, shift in enumerate(jitter)]
        calls(db, rank, ends, group_id=group_id, first=0 if group_id == "a" else 10)

    assert offsets(db) == [(0, 0, 0, "reference"), (70, 16, 5, "collectives"), (140, 32, 5, "collectives")]


@pytest.mark.parametrize(("count", "method"), [(2, "unknown"), (3, "collectives")])
def test_too_few_common_calls_are_refused(count: int, method: str) -> None:
    db = ranks(None, None)
    calls(db, 0, [1_000, 2_000, 3_000, 4_000])
    calls(db, 1, [1_000 * (at + 1) + 50 for at in range(count)])

    _, row = results("clock_offsets", db)

    assert row["method"] == method
    if method == "unknown":
        assert (row["offset_ns"], row["error_ns"]) == (None, None)
        assert row["reason"] == "fewer than 3 common collectives, or their ends do not agree"


@pytest.mark.parametrize(("jitter", "method"), [(33, "collectives"), (34, "collectives"), (35, "unknown")])
def test_ends_that_do_not_agree_within_half_a_call_are_refused(jitter: int, method: str) -> None:
    db = ranks(None, None)
    calls(db, 0, [1_000, 2_000, 3_000], dur=100)
    calls(db, 1, [1_000 - jitter, 2_000, 3_000 + jitter], dur=120)

    # Half of the shorter call is 50; the spreads are 49, 50 and 52.
    assert offsets(db)[1][3] == method


def test_the_same_number_in_another_group_or_of_another_kind_is_another_call() -> None:
    db = ranks(None, None, None)
    calls(db, 0, [1_000, 2_000, 3_000])
    calls(db, 1, [1_000, 2_000, 3_000], group_id="h")
    calls(db, 2, [1_000, 2_000, 3_000], op="broadcast")

    assert [row[3] for row in offsets(db)] == ["reference", "unknown", "unknown"]


def test_calls_without_a_number_tell_nothing() -> None:
    db = ranks(None, None)
    for rank in (0, 1):
        for number in range(3):
            collective(db, rank, number, 1_000 * number, 1_000 * number + 100, sequence=None)

    _, row = results("clock_offsets", db)

    assert (row["method"], row["offset_ns"]) == ("unknown", None)
    assert row["reason"] == "no collectives that could be matched across ranks were recorded"


def test_ranks_of_one_host_share_its_clock_with_an_error_that_nobody_measured() -> None:
    db = ranks("a", "a", None)
    calls(db, 1, [1_000, 2_000, 3_000])
    calls(db, 2, [1_040, 2_040, 3_040])

    assert offsets(db) == [(0, 0, 0, "reference"), (0, None, 0, "host"), (40, None, 3, "collectives")]


def test_what_collectives_say_over_another_rank_goes_before_the_host_as_well() -> None:
    # Ranks 0 and 2 are on one host and never meet; both meet rank 1.
    db = ranks("a", "b", "a")
    calls(db, 0, [1_000, 2_000, 3_000], group_id="g")
    calls(db, 1, [1_050, 2_050, 3_050], group_id="g")
    calls(db, 1, [4_050, 5_050, 6_050], group_id="h", first=3)
    calls(db, 2, [4_007, 5_007, 6_007], group_id="h")

    assert offsets(db) == [(0, 0, 0, "reference"), (50, 0, 3, "collectives"), (7, 0, 3, "collectives")]


def test_other_ranks_of_one_host_tell_how_far_a_rank_that_met_nobody_may_be_off() -> None:
    db = ranks("a", "a", "a", "a")
    for rank, late in enumerate((0, 30, -40)):
        calls(db, rank, [1_000 + late, 2_000 + late, 3_000 + late])

    # Of two differences, 30 and 40, the root of the mean square is 35.36; with two degrees of freedom 99 % are within
    # 9.925 times that.
    assert offsets(db)[3] == (0, 351, 0, "host")


def test_one_difference_tells_nothing_about_other_ranks_of_a_host() -> None:
    db = ranks("a", "a", "a")
    for rank, late in enumerate((0, 30)):
        calls(db, rank, [1_000 + late, 2_000 + late, 3_000 + late])

    assert offsets(db)[2] == (0, None, 0, "host")


def test_what_the_collectives_say_goes_before_the_name_of_the_host() -> None:
    db = ranks("a", "a")
    calls(db, 0, [1_000, 2_000, 3_000])
    calls(db, 1, [1_007, 2_007, 3_007])

    assert offsets(db)[1] == (7, 0, 3, "collectives")


def test_two_parts_that_never_met_have_a_reference_each() -> None:
    db = ranks(None, None, None, None)
    for rank, group_id in ((0, "g"), (1, "g"), (2, "h"), (3, "h")):
        calls(db, rank, [1_000 + 9 * rank, 2_000 + 9 * rank, 3_000 + 9 * rank], group_id=group_id)

    found = results("clock_offsets", db)

    assert [(row["reference_profile_id"], row["offset_ns"], row["method"]) for row in found] == [
        (0, 0, "reference"),
        (0, 9, "collectives"),
        (2, 0, "reference"),
        (2, 9, "collectives"),
    ]


def test_a_lone_rank_is_its_own_reference() -> None:
    assert offsets(ranks(None)) == [(0, 0, 0, "reference")]


def test_no_profiles_give_no_rows() -> None:
    assert results("clock_offsets", empty_tables()) == []


@settings(max_examples=25, deadline=None)
@given(
    shifts=st.lists(st.integers(-(10**15), 10**15), min_size=1, max_size=3),
    ends=st.lists(st.integers(EPOCH, EPOCH + 10**9), min_size=3, max_size=6, unique=True),
    backwards=st.booleans(),
)
def test_clocks_that_are_only_shifted_are_found_exactly_in_any_order(
    shifts: list[int], ends: list[int], backwards: bool
) -> None:
    db = ranks(*[None] * (len(shifts) + 1))
    order = list(enumerate([0, *shifts]))
    for rank, shift in reversed(order) if backwards else order:
        calls(db, rank, [end + shift for end in ends])

    found = offsets(db)

    assert found == [(0, 0, 0, "reference")] + [(shift, 0, len(ends), "collectives") for shift in shifts]


Call = tuple[int, str, int, int]
"""Profile, communicator, number, end."""


@given(
    hosts=st.lists(st.sampled_from([None, "a", "b"]), min_size=1, max_size=6),
    met=st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from("gh"), st.integers(0, 4), st.integers(0, 60)), max_size=40
    ),
)
def test_who_shares_a_communicator_or_a_host_is_found_as_by_trying_all_pairs(
    hosts: list[str | None], met: list[Call]
) -> None:
    calls = sorted({call[:3]: call for call in met if call[0] < len(hosts)}.values())
    rows: list[tuple[Any, ...]] = [(profile_id, host, None, None, None) for profile_id, host in enumerate(hosts)]
    rows += [(profile_id, hosts[profile_id], group, number, end) for profile_id, group, number, end in calls]
    rows.sort(key=lambda row: row[0])
    columns: dict[str, list[Any]] = {
        "profile_id": [row[0] for row in rows],
        "rank": [row[0] for row in rows],
        "host": [row[1] for row in rows],
        "group_id": [row[2] for row in rows],
        "op": ["allreduce" for _ in rows],
        "sequence": [row[3] for row in rows],
        "ts_ns": [None if row[4] is None else row[4] - 100 for row in rows],
        "dur_ns": [100 for _ in rows],
    }

    found = {row["profile_id"]: (row["offset_ns"], row["calls"], row["method"]) for row in offsets_between(columns)}

    assert found == by_all_pairs(hosts, calls)


Known = tuple[int | None, int, str]


def by_all_pairs(hosts: list[str | None], calls: list[Call]) -> dict[int, Known]:
    """Offset, common calls and method of each profile, found by trying every pair; calls last 100 ns."""
    ends: dict[int, dict[tuple[str, int], int]] = {profile_id: {} for profile_id in range(len(hosts))}
    for profile_id, group, number, end in calls:
        ends[profile_id][group, number] = end
    known: dict[int, Known] = {}
    for first in range(len(hosts)):
        if first in known:
            continue
        known[first] = (0, 0, "reference")
        connected = [first]
        while (nearest := next_one(hosts, ends, known, connected)) is not None:
            near, far, offset, count, method = nearest
            known[far] = ((known[near][0] or 0) + offset, count, method)
            connected.append(far)
        if first and len(connected) == 1:
            known[first] = (None, 0, "unknown")
    return known


def next_one(
    hosts: list[str | None], ends: dict[int, dict[tuple[str, int], int]], known: dict[int, Known], connected: list[int]
) -> tuple[int, int, int, int, str] | None:
    """The next profile that collectives lead to, the earliest known one first; else one of the same host."""
    pairs = [(near, far) for near in connected for far in range(len(hosts)) if far not in known]
    for near, far in pairs:
        common = sorted(ends[near].keys() & ends[far].keys())
        ordered = sorted(ends[far][key] - ends[near][key] for key in common)
        if len(common) >= 3:
            offset = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) // 2
            if round(1.4826 * median(abs(one - offset) for one in ordered)) <= 50:
                return near, far, offset, len(common), "collectives"
    for near, far in pairs:
        if hosts[near] is not None and hosts[near] == hosts[far]:
            return near, far, 0, len(ends[near].keys() & ends[far].keys()), "host"
    return None
