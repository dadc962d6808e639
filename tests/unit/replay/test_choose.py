from __future__ import annotations

from pathlib import Path

import pytest
from duckdb import DuckDBPyConnection

from ascend_sn.replay import Replay, Unpriced, jobs
from ascend_sn.replay.choose import choose
from ascend_sn.store import Run
from ascend_sn.store.input import Input
from tests.timeline import empty_tables, insert, timeline, together
from tests.unit.insight.drawn_runs import write_run
from tests.unit.replay.drawings import host_capture, replay_of


def run_of(durations: dict[int, list[int]], *, origin: str = "mark", device_kind: str = "host") -> DuckDBPyConnection:
    """Steps of given lengths, by profile, filled by one operator each."""
    db = empty_tables()
    with together(db):
        for profile, lengths in durations.items():
            insert(db, "profile", profile_id=profile, rank=profile, device_kind=device_kind, host="h")
            start = 0
            for number, length in enumerate(lengths):
                common = {"profile_id": profile, "rank": profile, "ts_ns": start, "dur_ns": length}
                insert(db, "step", step_id=number, step=10 + number, origin=origin, **common)
                insert(db, "operator", operator_id=number, thread="t", name="forward", phase="forward", **common)
                start += length
    return db


def test_the_median_step_after_the_warm_up() -> None:
    # The first step is warm-up; of 5, 9, 7, 6 the lower middle one is 6.
    choice = choose(run_of({0: [90, 5, 9, 7, 6]}))

    (window,) = choice.windows
    assert (window.step, window.end_ns - window.start_ns) == (14, 6)
    assert (choice.scope, choice.step_count, choice.profile_count) == ("step", 4, 1)


def test_how_far_the_steps_differ() -> None:
    # Behind the warm-up 10 to 20; the second and the tenth are 11 and 19, the median is 15.
    choice = choose(run_of({0: [90, 90, *range(20, 9, -1)]}))

    assert choice.step_count == 11
    assert choice.spread == (1 - 11 / 15, 19 / 15 - 1)


def test_two_runs_differ_even_where_all_steps_are_alike() -> None:
    assert choose(run_of({0: [10] * 9})).spread == (0.03, 0.03)


def test_four_steps_do_not_say_how_far_they_differ() -> None:
    assert choose(run_of({0: [90, 5, 9, 7, 6]})).spread == (0.0, 0.0)


def test_a_tenth_of_the_steps_is_warm_up() -> None:
    choice = choose(run_of({0: [50, 40] + [10] * 17 + [9]}))

    assert choice.step_count == 18


def test_a_step_is_as_long_as_its_longest_rank() -> None:
    choice = choose(run_of({0: [10, 10, 30, 20], 1: [10, 40, 10, 25]}))

    # Longest ranks after the warm-up: 40, 30, 25.
    assert [window.step for window in choice.windows] == [12, 12]


def test_a_step_that_a_rank_lacks_is_not_taken() -> None:
    choice = choose(run_of({0: [10, 20, 30, 40], 1: [10, 20, 30]}))

    assert choice.step_count == 2
    assert len(choice.windows) == 2


def test_chosen_profiles_only() -> None:
    choice = choose(run_of({0: [10, 10], 1: [10, 10], 2: [10, 10]}), [1, 2])

    assert [window.profile_id for window in choice.windows] == [1, 2]


def test_without_marks_the_whole_capture() -> None:
    choice = choose(run_of({0: [10, 10]}, origin="inferred"))

    (window,) = choice.windows
    assert (choice.scope, choice.step_count) == ("whole capture", 0)
    assert (window.start_ns, window.end_ns) == (0, 20)


def test_inferred_steps_when_asked_for() -> None:
    choice = choose(run_of({0: [10, 12]}, origin="inferred"), inferred=True)

    assert (choice.scope, choice.windows[0].end_ns) == ("inferred step", 22)


def test_of_many_profiles_those_that_wait_least_and_a_spread_of_the_rest() -> None:
    db = run_of({profile: [10, 10] for profile in range(8)})
    with together(db):
        for profile in range(8):
            insert(
                db,
                "collective",
                profile_id=profile,
                collective_id=0,
                op="allreduce",
                ts_ns=10,
                dur_ns=9,
                wait_ns=[7, 1, 6, 5, 2, 4, 3, 8][profile],
            )

    choice = choose(db, max_profiles=4)

    # Least: profiles 1 and 4; of the others by waiting (6, 5, 3, 2, 0, 7) the first and the last.
    assert [window.profile_id for window in choice.windows] == [1, 4, 6, 7]
    assert choice.profile_count == 8


def test_nothing_recorded() -> None:
    assert isinstance(Replay.of(empty_tables()), Unpriced)


def test_processes_of_one_host_share_a_clock_whatever_their_calls_end_like() -> None:
    lanes = {0: "ffRRffRRffRR..", 1: "ffRRRfRRRfRRR."}

    choice = choose(host_capture(lanes, steps={0: "1" * 14, 1: "1" * 14}))

    assert [window.offset_ns for window in choice.windows] == [0, 0]


@pytest.mark.parametrize(("op", "offset_ns"), [("allreduce", 2), ("unknown", 0)])
def test_clocks_of_devices_are_aligned_by_their_calls(op: str, offset_ns: int) -> None:
    db = timeline(
        """
        r0 step |11111111111111111111|
        r0 s1   |AA.RRRR.RRRR.RRRR...|
        r1 step |..11111111111111111111|
        r1 s1   |..AA.RRRR.RRRR.RRRR...|
        """,
        kinds={"R": "communication"},
    )
    with together(db):
        for profile in (0, 1):
            for sequence in range(3):
                insert(
                    db,
                    "collective",
                    profile_id=profile,
                    collective_id=sequence,
                    kernel_id=sequence + 1,
                    op=op,
                    group_id="g",
                    sequence=sequence,
                    ts_ns=3 + 5 * sequence + 2 * profile,
                    dur_ns=4,
                )

    replay = replay_of(db)

    assert [window.offset_ns for window in replay.choice.windows] == [0, offset_ns]
    assert replay.violations == 0


@pytest.mark.parametrize(
    ("steps", "expected"), [(3, "replay.few-steps"), (9, None)], ids=["two steady steps", "eight steady steps"]
)
def test_few_steps_are_said(steps: int, expected: str | None) -> None:
    replay = replay_of(run_of({0: [10] * steps}))

    said = [remark.message_id for remark in replay.remarks]
    assert (expected in said) if expected else ("replay.few-steps" not in said)


def test_profiles_that_meet_are_one_job() -> None:
    db = run_of({profile: [10, 10] for profile in range(5)})
    db.execute("update profile set rank = null")
    with together(db):
        for profile, group in ((1, "a"), (3, "a"), (3, "b"), (4, "b")):
            insert(
                db, "collective", profile_id=profile, collective_id=0, op="allreduce", group_id=group, ts_ns=0, dur_ns=1
            )

    assert jobs(db) == ((1, 3, 4), (0,), (2,))
    assert [window.profile_id for window in choose(db).windows] == [1, 3, 4]


def test_ranks_of_one_capture_are_one_job_even_where_nothing_says_that_they_meet() -> None:
    db = run_of({profile: [10, 10] for profile in range(3)})
    db.execute("update profile set device_kind = 'cuda' where profile_id = 1")

    assert jobs(db) == ((0, 2), (1,))


def test_two_captures_of_one_rank_are_two_jobs() -> None:
    db = run_of({0: [10, 10], 1: [10, 10]})
    db.execute("update profile set rank = 0")

    assert jobs(db) == ((0,), (1,))


def test_of_a_job_known_by_summaries_the_profiles_with_tables_are_replayed(tmp_path: Path) -> None:
    # Profiles 0 to 2 are known by their summaries: without collectives they look like a job of their own.
    db = timeline("r3 step |11112222|\nr3 s1 |AA..AA..|\nr4 step |11112222|\nr4 s1 |AAA.AAA.|")
    db.execute("delete from profile")
    with together(db):
        for rank in range(5):
            insert(db, "profile", profile_id=rank, rank=rank, device_kind="npu", host="h", format="text")
    for rank in (3, 4):
        insert(db, "collective", profile_id=rank, rank=rank, collective_id=0, op="allreduce", name="c", group_id="g",
               sequence=0, ts_ns=1, dur_ns=1)  # fmt: skip
    folder = write_run(db, tmp_path / "run")

    with Run(folder, Input.of([folder])) as run:
        run.detailed = frozenset({3, 4})
        found = Replay.of(run)

    assert isinstance(found, Replay)
    assert [window.profile_id for window in found.choice.windows] == [3, 4]
    assert [len(job) for job in jobs(db)] == [3, 2]
