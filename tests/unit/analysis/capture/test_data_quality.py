"""A01: what contradicts itself is counted, and scored; which ranks are here."""

from __future__ import annotations

from typing import Any

from duckdb import DuckDBPyConnection

from tests.timeline import empty_tables, insert, timeline, together
from tests.unit.analysis.rows import group, profile, results


def launched(db: DuckDBPyConnection, starts: list[int], launches: list[int | None]) -> None:
    """Insert a kernel per start on a stream of its own, and the call that launched it."""
    profile(db, 0)
    with together(db):
        for number, (start, launch) in enumerate(zip(starts, launches, strict=True)):
            if launch is not None:
                insert(
                    db, "host_call", rank=0, host_call_id=number, thread="main", name="launch", ts_ns=launch, dur_ns=1
                )
            insert(
                db,
                "kernel",
                rank=0,
                kernel_id=number,
                device_id=0,
                stream=str(number),
                kind="compute",
                ts_ns=start,
                dur_ns=5,
                host_call_id=None if launch is None else number,
            )


def check(db: DuckDBPyConnection, name: str) -> dict[str, Any]:
    (found,) = [row for row in results("data_quality", db) if row["check"] == name]
    return found


def test_one_of_ten_kernels_starts_before_its_launch() -> None:
    db = empty_tables()
    launched(
        db,
        starts=[10 * at for at in range(1, 11)],
        launches=[10 * at - 3 + (4 if at == 6 else 0) for at in range(1, 11)],
    )

    (score,) = results("data_score", db)

    assert check(db, "starts_before_launch")["ratio"] == 0.1
    assert (score["rows_checked"], score["violations"], score["score"]) == (10, 1, 0.9)


def test_a_kernel_that_starts_with_its_launch_is_no_violation() -> None:
    db = empty_tables()
    launched(db, starts=[10, 20], launches=[10, 19])

    assert check(db, "starts_before_launch")["violations"] == 0


def test_overlap_on_a_stream_is_measured_from_the_latest_end_so_far() -> None:
    db = timeline("r0 s1 |AAAAAA....|\n r0 s2 |..BB.CC.DD|")
    db.execute("update kernel set stream = '1'")

    found = check(db, "overlap_on_stream")

    # B and C start while A still runs; D does not.
    assert (found["violations"], found["checked"], found["ratio"]) == (2, 4, 0.5)


def test_streams_and_devices_do_not_overlap_each_other() -> None:
    db = timeline("r0 s1 |AAAA|\n r0 s2 |BBBB|\n r1 s1 |CCCC|")
    insert(db, "kernel", profile_id=0, kernel_id=9, device_id=1, stream="1", kind="compute", ts_ns=0, dur_ns=4)

    assert {row["violations"] for row in results("data_quality", db) if row["check"] == "overlap_on_stream"} == {0}


def test_waits_may_overlap_what_they_wait_for() -> None:
    db = timeline("r0 s1 |AAAA..|\n r0 s2 |.WWW..|", kinds={"W": "sync"})
    db.execute("update kernel set stream = '1'")

    (score,) = results("data_score", db)

    assert score["violations"] == 0


def test_only_waits_and_marks_may_take_no_time() -> None:
    db = empty_tables()
    profile(db, 0)
    with together(db):
        for number, (kind, dur) in enumerate(
            [("compute", -1), ("copy", 0), ("compute", 5), ("sync", 0), ("other", 0), ("sync", -2)]
        ):
            insert(db, "kernel", rank=0, kernel_id=number, stream="1", kind=kind, ts_ns=number * 10, dur_ns=dur)

    (score,) = results("data_score", db)

    assert check(db, "non_positive_duration")["violations"] == 3
    assert (score["rows_checked"], score["violations"]) == (6, 3)


def test_a_row_that_breaks_two_rules_lowers_the_score_once() -> None:
    db = empty_tables()
    launched(db, starts=[10, 12], launches=[5, 13])
    db.execute("update kernel set stream = '1'")

    (score,) = results("data_score", db)

    assert (score["rows_checked"], score["violations"], score["score"]) == (2, 1, 0.5)


def test_unknown_launches_are_counted_and_do_not_lower_the_score() -> None:
    db = empty_tables()
    launched(db, starts=[10, 20, 30], launches=[5, None, None])
    db.execute("update kernel set kind = 'sync' where kernel_id = 2")

    (score,) = results("data_score", db)

    found = check(db, "launch_unknown")
    assert (found["violations"], found["checked"]) == (1, 2)
    assert score["score"] == 1.0


def test_launches_are_not_missed_where_no_host_was_recorded() -> None:
    db = timeline("r0 s1 |AA.BB|")

    assert [row["check"] for row in results("data_quality", db)] == ["non_positive_duration", "overlap_on_stream"]


def test_damage_counts_but_information_does_not() -> None:
    db = timeline("r0 s1 |AA|")
    insert(db, "damage", kind="bad_row", severity="damage", count=4)
    insert(db, "damage", kind="truncated", severity="damage", count=1)
    insert(db, "damage", kind="no_rank", severity="info", count=1)
    insert(db, "damage", profile_id=-1, kind="unreadable", severity="damage", count=1)

    found = check(db, "damaged_rows")

    assert (found["violations"], found["checked"], found["ratio"]) == (5, None, None)


def test_a_profile_without_kernels_has_no_score() -> None:
    db = empty_tables()
    profile(db, 0)

    (score,) = results("data_score", db)

    assert (score["rows_checked"], score["score"]) == (0, None)


def test_ranks_missing_of_a_stated_world() -> None:
    db = empty_tables()
    with together(db):
        for rank in (0, 2, 2, 5):
            insert(db, "profile", profile_id=rank, rank=rank, world_size=8)

    (presence,) = results("rank_presence", db)

    assert presence == {
        "expected": 8,
        "expected_is_exact": True,
        "basis": "world_size",
        "present": 3,
        "profiles": 4,
        "missing_ranks": "1,3,4,6,7",
        "duplicate_ranks": "2",
        "extra_ranks": None,
        "unknown_rank_count": 0,
    }


def test_without_a_stated_world_the_largest_group_is_a_lower_bound() -> None:
    db = empty_tables()
    for rank in (0, 1):
        profile(db, rank)
    group(db, "g", 8, 0, 1, exact=False)

    (presence,) = results("rank_presence", db)

    assert (presence["expected"], presence["expected_is_exact"], presence["basis"]) == (8, False, "group")
    assert (presence["present"], presence["missing_ranks"]) == (2, None)


def test_a_lone_profile_that_says_nothing_expects_nothing() -> None:
    db = empty_tables()
    insert(db, "profile", profile_id=0, rank=None)

    (presence,) = results("rank_presence", db)

    assert (presence["expected"], presence["basis"], presence["present"]) == (None, "none", 0)
    assert presence["unknown_rank_count"] == 1


def test_a_complete_world_misses_nobody() -> None:
    db = empty_tables()
    for rank in range(12):
        profile(db, rank, world_size=12)

    (presence,) = results("rank_presence", db)

    assert (presence["present"], presence["missing_ranks"], presence["duplicate_ranks"]) == (12, None, None)


def test_missing_ranks_are_listed_in_order_of_number_up_to_twenty() -> None:
    db = empty_tables()
    profile(db, 3, world_size=1_000)

    (presence,) = results("rank_presence", db)

    assert presence["missing_ranks"] == ",".join(str(rank) for rank in range(21) if rank != 3)
