"""Pairs of ranks: how well their links are used, and who waits for whom."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from ascend_sn.analysis.ranks.rank_pairs import ANALYSIS as PAIRS
from ascend_sn.analysis.ranks.rank_waits import ANALYSIS as WAITS
from tests.timeline import empty_tables
from tests.unit.analysis.rows import collective, group, profile, results
from tests.unit.analysis.traces import Row, results as of_rows

CHIP = ("profile", {"device_kind": "npu", "device_name": "Ascend910B3"})  # HCCS 28 GB/s, RDMA 25 GB/s


def link(src: int, dst: int, size: int, dur: int, transport: str = "HCCS", **more: Any) -> Row:
    own = {"group_id": "g", "rank_scope": "group", "transport": transport, "size_bytes": size, "dur_ns": dur}
    return ("link", {"src_rank": src, "dst_rank": dst, **own, **more})


def wait(collective_id: int, src: int, dst: int, dur: int, name: str = "Notify_Wait") -> Row:
    own = {"name": name, "ts_ns": 0, "dur_ns": dur, "transport": "LOCAL"}
    return ("comm_task", {"collective_id": collective_id, "src_rank": src, "dst_rank": dst, **own})


def call(collective_id: int) -> Row:
    return ("collective", {"collective_id": collective_id, "group_id": "g", "op": "allreduce", "ts_ns": 0, "dur_ns": 9})


def member(place: int, rank: int | None) -> Row:
    own = {"group_id": "g", "group_rank": place, "group_size": 2, "size_is_exact": True}
    return ("comm_group_member", {**own, "member_rank": rank})


def test_a_link_at_half_of_its_peak_is_half_used() -> None:
    # 14 bytes in 1 ns are 14 GB/s of 28
    (row,) = of_rows(PAIRS, [CHIP, link(0, 1, 1_400, 100)])

    assert (row["src_rank"], row["dst_rank"], row["bandwidth_bytes_per_s"], row["bandwidth_ratio"]) == (0, 1, 14e9, 0.5)
    assert (row["bandwidth_reason"], row["mean_wait_ns"], row["transports"]) == (None, None, "HCCS")


def test_transports_of_a_pair_are_weighted_by_their_time() -> None:
    # 100 ns at the full 28 GB/s and 100 ns at a fifth of 25: 120 of 200 ns would have been enough
    (row,) = of_rows(PAIRS, [CHIP, link(0, 1, 2_800, 100), link(0, 1, 500, 100, "RDMA")])

    assert (row["bandwidth_ratio"], row["transports"], row["dur_ns"]) == (0.6, "HCCS,RDMA", 200)


def test_waiting_is_a_mean_per_collective() -> None:
    # two tasks in the first collective, one in the second
    rows = [CHIP, call(0), call(1), wait(0, 0, 1, 5), wait(0, 0, 1, 7), wait(1, 0, 1, 20), wait(1, 0, 1, 99, "Memcpy")]

    (row,) = of_rows(PAIRS, rows)

    assert (row["mean_wait_ns"], row["wait_calls"], row["bandwidth_ratio"]) == (16, 2, None)
    assert row["bandwidth_reason"] == "no-transfers"


def test_what_is_missing_is_named() -> None:
    unknown_chip = ("profile", {"device_kind": "npu", "device_name": "Ascend999"})

    assert [row["bandwidth_reason"] for row in of_rows(PAIRS, [unknown_chip, link(0, 1, 10, 10)])] == ["chip-unknown"]
    assert [row["bandwidth_reason"] for row in of_rows(PAIRS, [CHIP, link(0, 1, 10, 10, "SIO")])] == ["link-unknown"]
    assert [row["bandwidth_reason"] for row in of_rows(PAIRS, [CHIP, link(0, 1, 0, 0)])] == ["no-transfers"]


def test_copies_on_one_chip_are_no_pair() -> None:
    assert of_rows(PAIRS, [CHIP, link(1, 1, 10, 10, "LOCAL")]) == []


def test_places_become_ranks_where_every_member_is_known() -> None:
    known = [CHIP, member(0, 4), member(1, 9), link(0, 1, 28, 1)]
    partly = [CHIP, member(0, 4), member(1, None), link(0, 1, 28, 1)]

    ((row,), (other,)) = of_rows(PAIRS, known), of_rows(PAIRS, partly)

    assert (row["group_id"], row["src_rank"], row["dst_rank"]) == (None, 4, 9)
    assert (other["group_id"], other["src_rank"], other["dst_rank"]) == ("g", 0, 1)


def test_ranks_of_the_job_are_one_pair_in_all_groups() -> None:
    rows = [CHIP, link(0, 1, 14, 1, rank_scope="global"), link(0, 1, 14, 1, rank_scope="global", group_id="h")]

    (row,) = of_rows(PAIRS, rows)

    assert (row["size_bytes"], row["group_id"]) == (28, None)


def test_every_rank_waits_for_the_last_one() -> None:
    # rank 2 comes last in the first call (140 and 40 us late), rank 0 in the second (60 and 60)
    db = empty_tables()
    for rank in range(3):
        profile(db, rank, host="one")
    group(db, "g", 3, 0, 1, 2)
    for number, starts in enumerate([(10, 20, 24), (56, 50, 50)]):
        for rank, start in enumerate(starts):
            collective(db, rank, number, 10_000 * start, 400_000 * (number + 1))

    found = results("rank_waits", db)

    assert [
        (row["src_rank"], row["dst_rank"], row["wait_ns"], row["last_calls"], row["calls"], row["mean_wait_ns"])
        for row in found
    ] == [
        (0, 2, 140_000, 1, 2, 70_000),
        (1, 0, 60_000, 1, 2, 30_000),
        (1, 2, 40_000, 1, 2, 20_000),
        (2, 0, 60_000, 1, 2, 30_000),
    ]


@pytest.mark.parametrize(
    ("waits", "found"),
    [((0, 30_000), [(1, 0)]), ((20_000, 30_000), []), ((0, 9_000), []), ((3_000, 30_000), [(1, 0)])],
    ids=["rank 0 is last", "somebody absent is last", "nobody is last", "nearly no wait"],
)
def test_the_last_one_must_be_present(waits: tuple[int, int], found: list[tuple[int, int]]) -> None:
    db = empty_tables()
    for rank, wait_ns in enumerate(waits):
        profile(db, rank)
        collective(db, rank, 0, 0, 40_000, transit_ns=1, wait_ns=wait_ns, idle_ns=0, method="recorded")

    assert [(row["src_rank"], row["dst_rank"]) for row in results("rank_waits", db)] == found


@pytest.mark.parametrize("op", ["send", "unknown"])
def test_nobody_waits_in_calls_that_numbers_do_not_match(op: str) -> None:
    db = empty_tables()
    for rank, wait_ns in enumerate((0, 30_000)):
        profile(db, rank)
        collective(db, rank, 0, 0, 40_000, op=op, transit_ns=1, wait_ns=wait_ns, idle_ns=0, method="recorded")

    assert results("rank_waits", db) == []


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 9), st.integers(1, 9)), max_size=8))
def test_the_traffic_of_all_pairs_is_all_traffic(drawn: list[tuple[int, int, int, int]]) -> None:
    rows: list[Row] = [link(src, dst, size, dur) for src, dst, size, dur in drawn]

    found = of_rows(PAIRS, rows) if rows else []

    assert sum(row["size_bytes"] for row in found) == sum(size for src, dst, size, _ in drawn if src != dst)
    assert of_rows(WAITS, rows) == []
