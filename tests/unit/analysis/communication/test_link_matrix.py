"""A15: traffic between pairs of ranks, and who is slow: a sender, a receiver, or a single link."""

from __future__ import annotations

from typing import Any

from duckdb import DuckDBPyConnection

from tests.timeline import empty_tables, insert, together
from tests.unit.analysis.rows import profile, results

FULL = 10_000  # bytes in 1000 ns: 10 GB/s


def matrix(
    size: int, slow: set[tuple[int, int]], *, transport: str = "HCCS", db: DuckDBPyConnection | None = None
) -> DuckDBPyConnection:
    """Every rank sends to every other one; pairs in `slow` at half the bandwidth."""
    db = db or empty_tables()
    for src in range(size):
        profile(db, src)
        with together(db):
            for dst in range(size):
                if src != dst:
                    moved = FULL // 2 if (src, dst) in slow else FULL
                    own = {
                        "src_rank": src,
                        "dst_rank": dst,
                        "rank_scope": "global",
                        "transport": transport,
                        "group_id": "g",
                    }
                    insert(db, "link", profile_id=src, rank=src, size_bytes=moved, dur_ns=1_000, op="allgather", **own)
    return db


def patterns(db: DuckDBPyConnection) -> dict[tuple[int, int], str]:
    return {(row["src_rank"], row["dst_rank"]): row["pattern"] for row in results("link_matrix", db) if row["pattern"]}


def test_a_halved_row_is_a_slow_sender() -> None:
    db = matrix(4, {(2, dst) for dst in range(4)})

    assert patterns(db) == {(2, 0): "sender", (2, 1): "sender", (2, 3): "sender"}


def test_a_halved_column_is_a_slow_receiver() -> None:
    db = matrix(4, {(src, 1) for src in range(4)})

    assert patterns(db) == {(0, 1): "receiver", (2, 1): "receiver", (3, 1): "receiver"}


def test_a_halved_cell_is_a_slow_link() -> None:
    db = matrix(4, {(3, 0)})

    assert patterns(db) == {(3, 0): "link"}


def test_links_that_agree_have_no_pattern() -> None:
    assert patterns(matrix(4, set())) == {}


def test_fewer_than_four_links_cannot_stand_out() -> None:
    db = matrix(2, {(1, 0)})

    assert [(row["robust_z"], row["pattern"]) for row in results("link_matrix", db)] == [(None, None)] * 2


def test_a_transport_is_compared_with_its_like() -> None:
    db = matrix(4, set())
    with together(db):
        for src, dst in ((0, 4), (1, 5), (2, 6), (3, 7)):
            own: dict[str, Any] = {"src_rank": src, "dst_rank": dst, "transport": "RDMA", "group_id": "g"}
            insert(db, "link", profile_id=src, rank=src, size_bytes=FULL // 10, dur_ns=1_000, **own)

    assert patterns(db) == {}


def test_a_spread_of_two_percent_is_noise() -> None:
    db = matrix(4, set())
    db.execute("update link set size_bytes = size_bytes * 98 // 100 where src_rank = 2")

    assert patterns(db) == {}


def test_traffic_of_a_pair_is_summed_and_the_bandwidth_is_that_of_the_sum() -> None:
    db = empty_tables()
    profile(db, 0)
    for size, dur in ((6_000, 1_000), (2_000, 3_000)):
        own = {"src_rank": 0, "dst_rank": 1, "transport": "HCCS", "group_id": "g", "rank_scope": "group"}
        insert(db, "link", rank=0, size_bytes=size, dur_ns=dur, **own)

    (row,) = results("link_matrix", db)

    assert (row["size_bytes"], row["dur_ns"], row["bandwidth_bytes_per_s"]) == (8_000, 4_000, 2e9)
    assert row["rank_scope"] == "group"


def test_without_time_there_is_no_bandwidth() -> None:
    db = empty_tables()
    profile(db, 0)
    insert(db, "link", rank=0, src_rank=0, dst_rank=0, transport="LOCAL", size_bytes=64, dur_ns=0)

    assert [row["bandwidth_bytes_per_s"] for row in results("link_matrix", db)] == [None]


def test_sums_that_name_no_pair_are_not_a_pair() -> None:
    db = matrix(2, set())
    insert(db, "link", rank=0, collective_id=0, transport="HCCS", group_id="g", size_bytes=7, dur_ns=1)

    assert [(row["src_rank"], row["dst_rank"]) for row in results("link_matrix", db)] == [(0, 1), (1, 0)]


def test_pairs_of_groups_of_one_kind_are_compared_with_each_other() -> None:
    db = empty_tables()
    for pair in range(4):  # four groups of two ranks each: too few to tell on their own
        for src, dst in ((2 * pair, 2 * pair + 1), (2 * pair + 1, 2 * pair)):
            profile(db, src)
            moved = FULL // 3 if 5 in (src, dst) else FULL
            own = {"src_rank": src, "dst_rank": dst, "rank_scope": "global", "transport": "RDMA"}
            insert(db, "link", profile_id=src, rank=src, group_id=f"g{pair}", size_bytes=moved, dur_ns=1_000, **own)
            insert(
                db, "comm_group_member", profile_id=src, rank=src, group_id=f"g{pair}", kind="dp", group_size=2,
                group_rank=src % 2, member_rank=src, size_is_exact=True,
            )  # fmt: skip

    rows = {(row["src_rank"], row["dst_rank"]): row for row in results("link_matrix", db)}

    assert {pair for pair, row in rows.items() if row["pattern"]} == {(4, 5), (5, 4)}
    assert {row["usual_bytes_per_s"] for row in rows.values()} == {1e10}
