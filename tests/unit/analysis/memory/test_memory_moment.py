"""Memory at a moment, counted by hand from a list of events."""

from __future__ import annotations

import pytest
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.memory.memory_moment import live_blocks, pool_segments
from tests.timeline import empty_tables, insert, together

# A segment [1000, 2000). 300 bytes at 1000 come and go, 200 at 1300 and 100 at 1500 stay.
EVENTS = (
    (0, "segment_alloc", 1000, 1000, None),
    (1, "alloc", 1000, 300, 0),
    (2, "alloc", 1300, 200, 1),
    (3, "free", 1000, 300, None),
    (4, "alloc", 1500, 100, 0),
)
STACKS = ("layer\nforward\nmain", "backward\nmain")


def recorded(*further: tuple[int, str, int, int, int | None]) -> DuckDBPyConnection:
    db = empty_tables()
    with together(db):
        for number, frames in enumerate(STACKS):
            insert(db, "stack", profile_id=0, stack_id=number, frames=frames)
    for ts_ns, kind, address, size, stack in (*EVENTS, *further):
        insert(db, "memory_event", profile_id=0, ts_ns=ts_ns, kind=kind, address=str(address), size_bytes=size,
               device="cuda:0", stream="7", stack_id=stack)  # fmt: skip
    return db


@pytest.mark.parametrize(
    ("at_ns", "expected"),
    [
        (0, []),
        (2, [("1000", 300, STACKS[0]), ("1300", 200, STACKS[1])]),
        (3, [("1300", 200, STACKS[1])]),  # freed at the moment: gone
        (4, [("1300", 200, STACKS[1]), ("1500", 100, STACKS[0])]),
    ],
)
def test_blocks_live_from_their_allocation_to_their_free(at_ns: int, expected: list[tuple[str, int, str]]) -> None:
    found = live_blocks(recorded(), profile_id=0, device="cuda:0", at_ns=at_ns).dicts()

    assert [(row["address"], row["size_bytes"], row["frames"]) for row in found] == expected


def test_a_block_that_a_snapshot_still_holds_is_as_long_as_it_was_rounded_up() -> None:
    db = recorded((5, "alloc", 1000, 290, 0))
    for address, size in (("1000", 299), ("1500", 128)):
        insert(db, "memory_block", profile_id=0, device="cuda:0", address=address, size_bytes=size, state="allocated")

    before, after = (live_blocks(db, profile_id=0, device="cuda:0", at_ns=at).dicts() for at in (2, 5))

    # The first block at 1000 was another one: it was freed.
    assert [(row["address"], row["size_bytes"]) for row in before] == [("1000", 300), ("1300", 200)]
    assert [(row["address"], row["size_bytes"]) for row in after] == [("1000", 299), ("1300", 200), ("1500", 128)]


def test_a_block_without_a_stack_is_known_by_its_operator() -> None:
    db = recorded()
    insert(db, "operator", profile_id=0, operator_id=5, name="aten::mm", module="net.fc", ts_ns=9, dur_ns=1)
    insert(db, "memory_event", profile_id=0, ts_ns=9, kind="alloc", address="1", size_bytes=999, device="cuda:0",
           operator_id=5)  # fmt: skip

    first = live_blocks(db, profile_id=0, device="cuda:0", at_ns=9).dicts()[0]

    assert first["frames"] == "aten::mm\nnet.fc"


def test_gaps_are_what_no_block_covers() -> None:
    (segment,) = pool_segments(recorded(), profile_id=0, device="cuda:0", at_ns=4)

    assert (segment.address, segment.size_bytes, segment.stream) == (1000, 1000, "7")
    assert segment.blocks == [(1300, 200, 0), (1500, 100, 1)]
    assert segment.gaps == [(1000, 300), (1600, 400)]
    assert (segment.free_bytes, segment.largest_free_bytes) == (700, 400)


def test_an_unmapped_part_splits_a_segment() -> None:
    db = recorded((5, "segment_free", 1700, 100, None))

    found = pool_segments(db, profile_id=0, device="cuda:0", at_ns=5)

    assert [(one.address, one.size_bytes, one.free_bytes) for one in found] == [(1000, 700, 400), (1800, 200, 200)]


def test_a_block_over_two_pieces_lies_in_both() -> None:
    db = recorded((5, "segment_alloc", 2000, 500, None), (6, "alloc", 1900, 200, 0))

    first, second = pool_segments(db, profile_id=0, device="cuda:0", at_ns=6)

    assert first.blocks[-1][:2] == (1900, 100)
    assert second.blocks[0][:2] == (2000, 100)
    assert second.gaps == [(2100, 400)]


def test_no_segments_no_pool() -> None:
    assert pool_segments(empty_tables(), profile_id=0, device="cuda:0", at_ns=4) == []
