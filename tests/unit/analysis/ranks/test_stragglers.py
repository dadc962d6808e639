from __future__ import annotations

from typing import Any

import pytest

from ascend_sn.analysis.communication.arrivals import at_least
from ascend_sn.analysis.ranks.stragglers import ANALYSIS
from ascend_sn.analysis.registry import evaluate
from ascend_sn.store import open_run
from tests.shared_data import requires_shared, shared_path
from tests.unit.analysis.traces import Row, collective, dicts, kernel, numbered, operator, results, step

US = 1_000


def rank(profile_id: int, compute_us: list[int], *rows: Row, step_us: int = 100, stage: int | None = None) -> list[Row]:
    """One kernel per step of 100 us, then an all-reduce to the end of the step that is recorded to wait for the
    rest."""
    made: list[Row] = list(rows)
    for at, compute in enumerate(compute_us):
        start, end = at * step_us * US, (at + 1) * step_us * US
        made += [
            step(start, step_us * US, at),
            kernel(start, compute * US, step_id=at),
            kernel(start + compute * US, end - start - compute * US, "R", "communication", stream="2", step_id=at),
        ]
    if stage is not None:
        member = {"kind": "pp", "group_id": f"pp{profile_id}", "group_size": 2, "size_is_exact": True}
        made.append(("comm_group_member", {**member, "group_rank": stage, "member_rank": profile_id}))
    return numbered([(table, {"profile_id": profile_id, **values}) for table, values in made])


def found(*ranks: list[Row]) -> list[dict[str, Any]]:
    return results(ANALYSIS, [row for part in ranks for row in part])


def test_of_four_ranks_the_one_that_computes_half_as_long_again_scores_two_thirds() -> None:
    *others, slow = found(*(rank(at, [40] * 3) for at in range(3)), rank(3, [60] * 3))

    assert slow["score_ratio"] == pytest.approx(2 / 3)
    assert (slow["is_straggler"], slow["cause"], slow["compute_excess_ns"]) == (True, "compute", 20 * US)
    assert (slow["peers"], slow["steps"], slow["slowest_ratio"]) == (4, 3, 1.0)
    assert slow["evidence"] == "score,outlier"
    assert [row["is_straggler"] for row in others] == [False] * 3
    assert [row["score_ratio"] for row in others] == [1.0] * 3


def test_ranks_of_different_pipeline_stages_are_not_compared() -> None:
    first = [rank(at, [40] * 3, stage=0) for at in (0, 1, 2)]
    second = [rank(at, [60] * 3, stage=1) for at in (3, 4, 5)]

    rows = found(*first, *second)

    assert [row["stage"] for row in rows] == [0, 0, 0, 1, 1, 1]
    assert {(row["is_straggler"], row["score_ratio"], row["peers"]) for row in rows} == {(False, 1.0, 3)}


def test_being_slowest_once_is_not_persistent() -> None:
    *_, last = found(*(rank(at, [40, 40, 40]) for at in range(3)), rank(3, [40, 40, 80]))

    assert (last["slowest_ratio"], last["is_straggler"]) == (pytest.approx(1 / 3), False)


def test_a_rank_that_waits_for_its_data_is_slow_because_of_it() -> None:
    def slow_loader(profile_id: int, load_us: int) -> list[Row]:
        load = operator("load", 0, load_us * US, phase="data")
        busy = kernel(load_us * US, 20 * US, operator_id=1, step_id=0)
        rest = (80 - load_us) * US
        reduce = kernel((load_us + 20) * US, rest, "R", "communication", stream="2", step_id=0)
        rows = [step(0, 100 * US), load, operator("mm", load_us * US, US), busy, reduce]
        return numbered([(table, {"profile_id": profile_id, **values}) for table, values in rows])

    *_, last = found(*(slow_loader(at, 5) for at in range(3)), slow_loader(3, 45))

    assert (last["is_straggler"], last["cause"], last["data_excess_ns"]) == (True, "data", 40 * US)


def arrivals(profile_id: int, late_us: list[int], **more: Any) -> list[Row]:
    made: list[Row] = [kernel(0, US)]
    for at, late in enumerate(late_us):
        parts: dict[str, Any] = {"wait_ns": late * US, "sync_ns": late * US, "transit_ns": US, "idle_ns": 0}
        made.append(collective(at, (late + 1) * US, sequence=at, method="recorded", **parts, **more))
    return numbered([(table, {"profile_id": profile_id, **values}) for table, values in made])


def test_coming_last_to_ten_of_ten_calls_is_no_chance() -> None:
    first, second = found(arrivals(0, [50] * 10), arrivals(1, [0] * 10))

    assert (second["calls"], second["last_calls"], second["last_ratio"]) == (10, 10, 1.0)
    assert second["chance_ratio"] == pytest.approx(0.5**10)
    assert (second["is_straggler"], second["evidence"], second["caused_wait_ns"]) == (True, "arrival", 500 * US)
    assert (first["last_calls"], first["is_straggler"], first["caused_wait_ns"]) == (0, False, 0)


def test_six_of_ten_between_two_may_be_chance() -> None:
    _, second = found(arrivals(0, [50] * 6 + [0] * 4), arrivals(1, [0] * 6 + [50] * 4))

    assert second["last_ratio"] == 0.6
    assert second["chance_ratio"] == pytest.approx(386 / 1024)  # 210 + 120 + 45 + 10 + 1 of 1024
    assert second["is_straggler"] is False


def test_when_all_wait_the_last_one_is_not_here_and_near_arrivals_have_none() -> None:
    assert [row["calls"] for row in found(arrivals(0, [50, 9]), arrivals(1, [20, 0]))] == [0, 0]


@pytest.mark.parametrize("op", ["send", "unknown"])
def test_calls_that_numbers_do_not_match_have_no_last_one(op: str) -> None:
    assert [row["calls"] for row in found(arrivals(0, [50], op=op), arrivals(1, [0], op=op))] == [0, 0]


def test_alone_there_is_nobody_to_compare_with() -> None:
    (row,) = found(rank(0, [40]))

    assert (row["peers"], row["score_ratio"], row["robust_z"], row["is_straggler"]) == (1, None, None, False)


def test_the_tail_of_a_binomial() -> None:
    assert at_least(0, 5, 0.3) == 1.0
    assert at_least(5, 5, 0.25) == pytest.approx(0.25**5)
    assert at_least(2, 3, 0.5) == pytest.approx(0.5)


@requires_shared
def test_field_case_15_names_rank_2_and_3_ms_per_step() -> None:
    with open_run(shared_path("cases", "dv15_slow_rank")) as run:
        rows = dicts(evaluate(ANALYSIS, run.db))

    (slow,) = (row for row in rows if row["is_straggler"])
    assert (slow["rank"], slow["cause"], slow["caused_wait_ns"]) == (2, "compute", 3_000_000)
    assert slow["compute_excess_ns"] == 3_000_000


def delayed(profile_id: int, compute_us: int, *calls: tuple[str, int, int]) -> list[Row]:
    """Three steps of a kernel and of calls behind it: communicator, time after the kernel, and what is waited in it."""
    made: list[Row] = []
    for at in range(3):
        start = at * 145 * US
        made += [step(start, 145 * US, at), kernel(start, compute_us * US, step_id=at)]
        for place, (group, after, wait) in enumerate(calls):
            parts: dict[str, Any] = {
                "wait_ns": wait * US,
                "sync_ns": wait * US,
                "transit_ns": US,
                "idle_ns": 0,
                "method": "recorded",
            }
            when = (start + (compute_us + after) * US, (wait + 1) * US)
            number = sum(table == "kernel" for table, _ in made)
            made.append(kernel(*when, "R", "communication", stream=group, step_id=at))
            sequence = at * len(calls) + place
            made.append(collective(*when, sequence=sequence, group_id=group, kernel_id=number, **parts))
    return numbered([(table, {"profile_id": profile_id, **values}) for table, values in made])


def test_a_rank_that_was_held_up_itself_only_passes_that_on() -> None:
    # Rank 0 computes 40 us longer than the others. Rank 1 waits for it in "a", and then comes late to "c" as well.
    slow = delayed(0, 100, ("a", 0, 0), ("b", 1, 0))
    held_up = delayed(1, 60, ("a", 0, 40), ("c", 41, 0))
    others = [delayed(2, 60, ("d", 0, 0), ("b", 1, 40)), delayed(3, 60, ("d", 0, 0), ("c", 1, 40))]

    rows = found(slow, held_up, *others)

    assert [row["is_straggler"] for row in rows] == [True, False, False, False]
    assert [(row["calls"], row["last_calls"], row["caused_wait_ns"]) for row in rows[:2]] == [
        (6, 6, 40 * US),  # last in "a" and in "b"
        (6, 3, 0),  # last in "c", by what rank 0 made it wait
    ]
    assert rows[0]["chance_ratio"] == pytest.approx(0.5**6)  # for one rank; among four it may be chance
    assert (rows[0]["evidence"], rows[0]["cause"]) == ("score,outlier", "compute")


def test_what_others_wait_is_not_counted_again_in_each_call_beside_compute() -> None:
    # It comes 40 us late to each of three calls of a step that none of the ranks stops for.
    slow = delayed(0, 100, *[("a", 0, 0)] * 3)

    first, *_ = found(slow, *(delayed(profile_id, 60, *[("a", 0, 40)] * 3) for profile_id in (1, 2, 3)))

    assert (first["calls"], first["last_calls"]) == (9, 9)
    assert first["caused_wait_ns"] == 40 * US


def test_ranks_that_are_slow_together_are_all_named() -> None:
    rows = found(*(rank(at, [40] * 3) for at in range(6)), *(rank(at, [60] * 3) for at in (6, 7)))

    assert [row["rank"] for row in rows if row["is_straggler"]] == [6, 7]
    assert {row["cause"] for row in rows[6:]} == {"compute"}


def test_among_few_steps_of_much_noise_the_slowest_is_no_straggler() -> None:
    *_, last = found(rank(0, [40, 52, 34]), rank(1, [52, 34, 40]), rank(2, [34, 40, 52]), rank(3, [50, 52, 48]))

    # Longer than the others' median in every step, which vary by a fifth from step to step.
    assert (last["score_ratio"], last["is_straggler"]) == (0.8, False)
