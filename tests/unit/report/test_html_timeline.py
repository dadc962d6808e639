"""The timeline of one step: which slices stand in it, and that none is lost when short ones are merged."""

from __future__ import annotations

from ascend_sn.report.assemble.run import assemble
from ascend_sn.report.documents.timeline import StepTimeline
from ascend_sn.report.html.timeline import lanes_table, packed_timeline, timeline_note
from ascend_sn.report.words.language import Language
from tests.timeline import insert, timeline, together
from tests.unit.report.drawn import DrawnRun, nothing, two_ranks

ENGLISH = Language.load("en")


def timeline_of(run: DrawnRun) -> StepTimeline:
    found = assemble(run, ENGLISH).timeline
    assert found is not None
    return found


def test_the_median_step_is_cut_out_and_starts_at_zero() -> None:
    found = timeline_of(two_ranks())

    lanes = {(lane.rank, lane.place, lane.lane): lane for lane in found.lanes}
    first = lanes[0, "device", "1"]
    assert (found.dur_ns, found.profile_count) == (10, 2)
    assert [(one.name, one.start_ns, one.dur_ns) for one in first.slices] == [("A", 0, 4), ("B", 6, 1)]


def test_collectives_have_a_lane_of_their_group() -> None:
    found = timeline_of(two_ranks())

    (lane,) = (lane for lane in found.lanes if lane.place == "communication" and lane.rank == 1)
    assert (lane.lane, [(one.kind, one.start_ns, one.dur_ns) for one in lane.slices]) == (
        "g",
        [("communication", 5, 2)],
    )


def test_the_other_ranks_show_the_step_of_that_number() -> None:
    run = DrawnRun(
        timeline(
            """
            r0 step |1111222223333333|
            r0 s1   |A...B....C......|
            r1 step |1111111122233333|
            r1 s1   |AAAAAAAABBBCCCCC|
            """
        )
    )

    found = timeline_of(run)

    # The middle step of rank 0 is step 2 (5 of 4, 5, 7 ns); that of rank 1 would be step 3 (5 of 8, 3, 5).
    # On the clock of their host step 2 lasts from 4 to 9 ns on rank 0, and from 8 to 11 ns on rank 1.
    assert (found.step, found.is_aligned, found.dur_ns) == (2, True, 7)
    assert [[(one.name, one.start_ns) for one in lane.slices] for lane in found.lanes] == [[("B", 0)], [("B", 4)]]


def test_ranks_whose_clocks_are_unknown_begin_at_their_own_step() -> None:
    db = timeline("r0 step |.1111....|\nr0 s1   |.A.......|\nr1 step |...11111.|\nr1 s1   |...AA....|")
    db.execute("update profile set host = 'host ' || profile_id")

    found = timeline_of(DrawnRun(db))

    assert (found.is_aligned, found.dur_ns) == (False, 5)
    assert [[(one.start_ns, one.dur_ns) for one in lane.slices] for lane in found.lanes] == [[(0, 1)], [(0, 2)]]
    assert "each from the start of its own step" in timeline_note(found, ENGLISH)


def test_steps_of_one_number_that_lie_far_apart_are_not_put_on_one_clock() -> None:
    db = timeline("r0 step |11.........|\nr0 s1   |A..........|\nr1 step |.........11|\nr1 s1   |.........A.|")

    found = timeline_of(DrawnRun(db))

    assert (found.is_aligned, found.dur_ns) == (False, 2)


def test_short_slices_are_merged_and_counted() -> None:
    db = timeline("r0 step |1|\nr0 s9 |A|")
    db.execute("update step set dur_ns = 1000000")
    db.execute("update kernel set dur_ns = 300000, ts_ns = 500000")
    with together(db):
        for number in range(100):  # all within the first 1/1500 of the step, one ns busy and one free
            insert(db, "kernel", profile_id=0, rank=0, kernel_id=10 + number, stream="9", name=f"k{number}",
                   kind="compute", ts_ns=2 * number, dur_ns=1)  # fmt: skip

    (lane,) = timeline_of(DrawnRun(db)).lanes

    merged, long = lane.slices
    assert lane.slice_count == 101
    assert (merged.slice_count, merged.start_ns, merged.dur_ns, merged.busy_ns) == (100, 0, 199, 100)
    assert (long.slice_count, long.start_ns, long.dur_ns) == (1, 500_000, 300_000)


def test_a_slice_that_begins_before_the_step_is_cut() -> None:
    db = timeline("r0 step |.11.|\nr0 s1 |AAAA|")

    (lane,) = timeline_of(DrawnRun(db)).lanes

    assert [(one.start_ns, one.dur_ns) for one in lane.slices] == [(0, 2)]


def test_packed_numbers_name_what_was_drawn() -> None:
    packed = packed_timeline(timeline_of(two_ranks()), ENGLISH)

    assert packed is not None
    lane = next(lane for lane in packed.lanes if lane.label == "stream 1")
    start, dur, depth, name, kind, count, busy = lane.slices[:7]
    assert (start, dur, depth, packed.names[name], packed.kinds[kind], count, busy) == (0, 4, 0, "A", "compute", 1, 4)
    assert lane.group == "rank 0 \u00b7 device"


def test_the_table_says_how_busy_a_lane_is_and_its_longest_slice() -> None:
    table = lanes_table(timeline_of(two_ranks()), ENGLISH)

    assert table.rows[0] == ("rank 0 \u00b7 device \u00b7 stream 1", "2", "5 ns (50 %)", "A", "0 ns", "4 ns")


def test_the_note_says_what_is_shown() -> None:
    assert timeline_note(timeline_of(two_ranks()), ENGLISH).startswith("Step 1, 10 ns \u00b7 2 ranks on the clock")


def test_a_run_without_kernels_has_no_timeline() -> None:
    assert assemble(nothing(), ENGLISH).timeline is None
    assert packed_timeline(None, ENGLISH) is None
