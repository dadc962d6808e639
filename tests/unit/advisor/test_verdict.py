"""The verdict on drawn runs: which sentence, about which rank, with which figures."""

from __future__ import annotations

from typing import Any

import pytest
from duckdb import DuckDBPyConnection

from ascend_sn.advisor.device_data import silent_devices
from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.finding import Advice, Finding, Location, PricedGain, Suppressed
from ascend_sn.advisor.median_step import median_phases, median_steps
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.verdict import verdict
from tests.timeline import empty_tables, insert, timeline, together
from tests.unit.advisor.rules.test_straggler import MS, STEP, training
from tests.unit.report.drawn import DrawnRun


def said(db: DuckDBPyConnection) -> dict[str, dict[str, Any]]:
    """Return what the verdict says of a run, in order: parameters by message id."""
    return {message.message_id: message.params for message in messages(db)}


def messages(db: DuckDBPyConnection, advice: Advice | None = None) -> list[Message]:
    facts = Facts(DrawnRun(db))
    steps = median_steps(facts)
    return verdict(facts, steps, median_phases(facts, steps), silent_devices(facts), advice)


def collective(db: DuckDBPyConnection, profile: int, **values: Any) -> None:
    insert(db, "collective", profile_id=profile, rank=profile, collective_id=0, op="allreduce", name="c", group_id="g",
           sequence=0, size_bytes=8, ts_ns=2, **values)  # fmt: skip


def test_communication_that_hides_compute_is_told_by_the_stage() -> None:
    db = timeline("r0 step |1111111111|\nr0 s1 |.AA.......|\nr0 s2 |..CCCCCCC.|", kinds={"C": "communication"})

    found = said(db)

    # Stage from 1 to 9; communication from 2 to 9, of which the first nanosecond runs under A.
    limits = found["verdict.communication-limits-stage"]
    assert (limits["exposed_ns"], limits["stage_ns"]) == (6, 8)
    assert limits["exposed_ratio"] == pytest.approx(0.75)


def test_communication_is_never_more_than_the_time_from_the_first_kernel_to_the_last() -> None:
    db = timeline("r0 step |1111111111|\nr0 s1 |.A........|\nr0 s2 |..CCCCCCC.|", kinds={"C": "communication"})
    insert(db, "collective", profile_id=0, rank=0, collective_id=0, op="receive", name="C", group_id="g", ts_ns=2,
           dur_ns=7, method="recorded")  # fmt: skip
    db.execute("update collective set kernel_id = (select kernel_id from kernel where name = 'C')")

    limits = said(db)["verdict.communication-limits-stage"]

    # From 1 to 9; the receive of 7 ns is a bubble, which the profiler leaves out of its stage (1 ns).
    assert (limits["exposed_ns"], limits["stage_ns"], limits["exposed_ratio"]) == (7, 8, 7 / 8)


def test_the_parts_of_the_communication_and_the_absent_members_are_told() -> None:
    db = timeline("r0 step |1111111111|\nr0 s1 |.AA.......|\nr0 s2 |..CCCCCCC.|", kinds={"C": "communication"})
    collective(db, 0, dur_ns=7, transit_ns=1, wait_ns=2, idle_ns=4, method="recorded")
    insert(db, "comm_group_member", rank=0, group_id="g", group_rank=0, group_size=8, size_is_exact=False)

    parts = said(db)["verdict.parts-members"]

    assert [parts[f"{name}_ratio"] for name in ("transit", "wait", "idle")] == pytest.approx([1 / 7, 2 / 7, 4 / 7])
    assert parts["members"] == Message("members.of-at-least", {"present": 1, "expected": 8})


def test_that_none_of_the_communication_is_idle_is_not_said() -> None:
    db = timeline("r0 step |1111111111|\nr0 s1 |.AA.......|\nr0 s2 |..CCCCCCC.|", kinds={"C": "communication"})
    collective(db, 0, dur_ns=7, transit_ns=3, wait_ns=4, idle_ns=0, method="recorded")

    parts = said(db)

    assert "verdict.parts" not in parts
    assert (parts["verdict.parts-two"]["transit_ratio"], parts["verdict.parts-two"]["wait_ratio"]) == (3 / 7, 4 / 7)


@pytest.mark.parametrize(("waited_ns", "named"), [(4, True), (3, False)])
def test_an_absent_member_is_named_where_half_of_the_time_is_waiting_for_it(waited_ns: int, named: bool) -> None:
    db = timeline("r0 step |1111111111|\nr0 s1 |.AA.......|\nr0 s2 |..CCCCCCC.|", kinds={"C": "communication"})
    collective(db, 0, dur_ns=7, transit_ns=1, wait_ns=1, idle_ns=5, method="recorded")
    insert(db, "comm_group_member", rank=0, group_id="g", group_rank=0, group_size=8, size_is_exact=False)
    for place, dur_ns in ((3, waited_ns), (6, 1)):
        insert(db, "comm_task", rank=0, collective_id=0, name="Notify_Wait", ts_ns=2, dur_ns=dur_ns, src_rank=0,
               dst_rank=place)  # fmt: skip

    awaited = said(db).get("verdict.awaited")

    expected = {"member": Message("member.place", {"place": 3}), "wait_ns": waited_ns, "total_ns": 7}
    assert awaited == (expected if named else None)


def test_unknown_parts_are_called_unknown() -> None:
    db = timeline("r0 step |1111111111|\nr0 s2 |..CCCCCCC.|", kinds={"C": "communication"})
    collective(db, 0, dur_ns=7)

    assert "verdict.parts-unknown" in said(db)


def test_compute_that_fills_the_step_is_told_with_the_largest_loss() -> None:
    db = timeline("r0 step |1111111111|\nr0 s1 |.AAAAAAA..|")

    found = said(db)["verdict.compute-limits"]

    assert (found["compute_ns"], found["window_ns"]) == (7, 10)
    assert found["loss"] == Message("loss.free")
    assert found["loss_ratio"] == pytest.approx(0.3)


def test_a_free_device_is_told_with_what_passes_before_its_first_kernel() -> None:
    db = timeline("r0 step |1111111111|\nr0 s1 |......AA..|")

    found = said(db)

    assert found["verdict.device-free"]["free_ns"] == 8
    assert found["verdict.before-first-kernel"] == {"preparing_ns": 6}


def test_free_time_while_the_host_loads_data_is_told_so() -> None:
    db = timeline("r0 step |1111111111|\nr0 host |dddd......|\nr0 s1 |....AAAA..|")

    assert said(db)["verdict.loads-data"] == {"data_ns": 4}


def test_a_step_that_waits_for_data_goes_first() -> None:
    db = timeline("r0 step |1111111111|\nr0 host |dddddd....|\nr0 s1 |......AAAA|")

    assert next(iter(said(db))) == "verdict.data-limits"


def test_copies_can_be_the_largest_loss() -> None:
    db = timeline("r0 step |1111111111|\nr0 s1 |AA.HHHHHHH|", kinds={"H": "copy"})

    assert said(db)["verdict.copies-limit"]["copy_ns"] == 7


def test_of_several_ranks_the_one_that_loses_most_is_named() -> None:
    db = timeline(
        """
        r0 step |1111111111|
        r0 s1   |AAAAAAAAA.|
        r1 step |1111111111|
        r1 s1   |AAAAAA....|
        """
    )

    where = said(db)["verdict.compute-limits"]["where"]

    assert where.message_id == "where.worst"
    assert where.params["where"].params["rank"] == 1
    assert where.params["count"] == 2


@pytest.mark.parametrize(("slow", "named"), [("AAAAAAAA..", False), ("AAAAAAAAA.", True)])
def test_a_rank_that_computes_a_tenth_longer_than_the_others_is_named(slow: str, named: bool) -> None:
    db = timeline(
        f"""
        r0 step |1111111111|
        r0 s1   |AAAAAAAA..|
        r1 step |1111111111|
        r1 s1   |AAAAAAAA..|
        r2 step |1111111111|
        r2 s1   |{slow}|
        """
    )

    found = said(db)

    assert ("verdict.uneven-ranks" in found) is named
    if named:
        assert found["verdict.uneven-ranks"] == {"rank": 2, "slowest_ns": 9, "median_ns": 8, "lost_ns": 1}


def test_captures_that_share_a_rank_are_of_different_jobs_and_not_compared() -> None:
    db = timeline(
        """
        r0 s1 |AA........|
        r1 s1 |AA........|
        r2 s1 |AAAAAAAAA.|
        """
    )
    db.execute("update profile set rank = 0")
    db.execute("update kernel set rank = 0")

    assert "verdict.uneven-ranks" not in said(db)


def test_without_step_marks_the_figures_are_of_the_whole_capture() -> None:
    found = said(timeline("r0 s1 |AAAA..AA|"))

    assert "verdict.no-step-marks" in found
    assert found["verdict.compute-limits"]["window"] == Message("window.capture")


def test_inferred_steps_do_not_stand_for_marks() -> None:
    db = timeline("r0 step |1111|\nr0 s1 |AAAA|")
    db.execute("update step set origin = 'inferred'")

    assert "verdict.no-step-marks" in said(db)


@pytest.mark.parametrize("kind", ["cpu", "host"])
def test_a_capture_without_accelerator_is_named_as_such(kind: str) -> None:
    db = timeline("r0 step |1111|\nr0 s1 |AAAA|")
    db.execute(f"update profile set device_kind = '{kind}'")

    assert f"verdict.{kind}-capture" in said(db)


def test_launches_without_device_records_are_counted_not_called_idle() -> None:
    db = empty_tables()
    insert(db, "profile", rank=3, device_kind="npu", format="drawing", source="a")
    with together(db):
        for number in range(15):
            insert(db, "host_call", rank=3, host_call_id=number, name="launch", thread="t", ts_ns=number, dur_ns=1)

    assert said(db) == {"verdict.no-device-data": {"count": 15, "rank": 3}}


def test_the_reader_s_number_of_launches_is_taken_where_it_gives_one() -> None:
    db = empty_tables()
    insert(db, "profile", rank=0, device_kind="cuda", format="drawing", source="a")
    insert(
        db, "coverage", rank=0, table_name="kernel", state="missing", reason="7 launches on the host, 0 device records"
    )

    assert said(db)["verdict.no-device-data"]["count"] == 7


def test_a_capture_of_memory_alone_misses_no_device_data() -> None:
    db = empty_tables()
    insert(db, "profile", rank=0, device_kind="npu", format="drawing", source="a")
    insert(db, "coverage", rank=0, table_name="kernel", state="unsupported", reason="memory only")

    assert said(db) == {"verdict.nothing-to-divide": {}}


def test_the_median_step_of_an_even_number_is_the_lower_middle() -> None:
    db = timeline("r0 step |1222333344444|\nr0 s1 |A.A.A...A....|")

    (step,) = median_steps(Facts(DrawnRun(db)))

    assert (step.step, step.window_ns, step.step_count) == (2, 3, 4)
    assert (step.window_min_ns, step.window_max_ns) == (1, 5)


def test_a_straggler_is_named_first_with_what_it_costs() -> None:
    first, *_ = messages(training(20 * MS))

    assert first == Message(
        "verdict.straggler",
        {"rank": 2, "lost_ns": 20 * MS, "lost_ratio": 0.2, "count": 3, "cause": Message("cause.compute")},
    )
    assert "verdict.uneven-ranks" not in said(training(20 * MS))


def slow_link(gain_ns: int) -> Finding:
    """A link of rank 1 that costs so much of a step of 100 ms."""
    said = Message("said", {"who": Message("link.rank", {"rank": 1}), "share_ratio": 0.25})
    gain = PricedGain(low_ns=0, expected_ns=gain_ns, high_ns=gain_ns, low_ratio=0.0, expected_ratio=gain_ns / STEP,
                      high_ratio=gain_ns / STEP, base_ns=STEP, method="replay")  # fmt: skip
    return Finding(id="R-COMM-5", code="R-COMM-5", topic="communication", severity="info", confidence="high",
                   title=said, message=said, advice=said, next_step=said, location=Location(ranks=(1,)), evidence=(),
                   effort="config", gain=gain)  # fmt: skip


def held_back(reason: str) -> Suppressed:
    """The straggler, rank 2, which the advisor does not advise to repair."""
    said = Message("said")
    return Suppressed(id="R-IMB-1", code="R-IMB-1", topic="communication", reason=Message(reason), title=said,
                      message=said, location=Location(profile_ids=(2,), ranks=(2,)))  # fmt: skip


def test_a_slow_link_is_named_first_where_repairing_the_straggler_gains_nothing() -> None:
    advice = Advice(findings=(slow_link(10 * MS),), suppressed=(held_back("suppressed.no-gain"),))

    first, *others = messages(training(20 * MS), advice)

    assert (first.message_id, first.params["gain_ns"], first.params["gain_ratio"]) == (
        "verdict.slow-link",
        10 * MS,
        0.1,
    )
    assert first.params["who"] == Message("link.rank", {"rank": 1})
    assert "verdict.straggler" not in {other.message_id for other in others}
    hidden = next(other for other in others if other.message_id == "verdict.straggler-hidden")
    assert hidden.params == {"rank": 2, "cause": Message("cause.compute"), "longer_ns": 20 * MS}


@pytest.mark.parametrize(
    ("link_ns", "order"),
    [
        (21 * MS, ["verdict.slow-link", "verdict.straggler"]),
        (19 * MS, ["verdict.straggler", "verdict.slow-link"]),
        (5 * MS, ["verdict.straggler", "verdict.slow-link"]),
        (5 * MS - 1, ["verdict.straggler"]),
    ],
)
def test_of_a_straggler_and_a_slow_link_the_one_that_costs_more_comes_first(link_ns: int, order: list[str]) -> None:
    told = [message.message_id for message in messages(training(20 * MS), Advice(findings=(slow_link(link_ns),)))]

    assert told[0] == order[0]
    assert [one for one in told if one in ("verdict.slow-link", "verdict.straggler")] == order


def test_a_straggler_whose_repair_gains_nothing_is_not_named_first() -> None:
    advice = Advice(suppressed=(held_back("suppressed.small-gain"),))

    told = [message.message_id for message in messages(training(20 * MS), advice)]

    assert told.index("verdict.straggler-hidden") > 0
    assert "verdict.straggler" not in told


def test_a_straggler_that_costs_little_is_not_named_first() -> None:
    assert "verdict.straggler" not in said(training(4 * MS))


def test_what_the_device_is_free_for_is_told() -> None:
    # Free from 4 to 14, while the main thread waits for the device's other work in a synchronising call until 12.
    db = timeline("r0 step |11111111111111111111|\nr0 s1 |AAAA..........BBBBBB|\nr0 host |ffffffffffffffffffff|")
    insert(db, "host_call", rank=0, host_call_id=0, thread="host", name="aclrtSynchronizeStream", ts_ns=2, dur_ns=10)
    insert(db, "host_call", rank=0, host_call_id=1, thread="host", name="aclrtLaunchKernel", ts_ns=13, dur_ns=1)
    db.execute("update kernel set host_call_id = 1 where name = 'B'")

    cause = said(db)["verdict.free-cause"]

    assert cause == {"cause": Message("free-cause.host-sync"), "cause_ns": 8}


def test_no_cause_is_told_where_none_has_most_of_the_free_time() -> None:
    db = timeline("r0 step |1111111111|\nr0 s1 |AA......BB|")

    assert "verdict.free-cause" not in said(db)


def steps_of(lengths: list[int]) -> DuckDBPyConnection:
    """Steps of so many ns one after another, each with a kernel of 10 ns."""
    db = timeline("r0 step |1|\nr0 s1 |A|")
    db.execute("delete from step")
    db.execute("delete from kernel")
    at = 0
    with together(db):
        for number, length in enumerate(lengths):
            insert(db, "step", step_id=number, step=number, ts_ns=at, dur_ns=length, origin="mark")
            insert(
                db,
                "kernel",
                kernel_id=number,
                device_id=0,
                stream="1",
                name="A",
                kind="compute",
                ts_ns=at,
                dur_ns=10,
                step_id=number,
            )
            at += length
    return db


def test_steps_that_vary_much_are_told() -> None:
    # Of 11 steps the second and the tenth by length are 70 and 130: 60 of the median of 100.
    lengths = [50, 70, 80, 90, 95, 100, 105, 110, 120, 130, 900]

    varies = said(steps_of(lengths))["verdict.steps-vary"]

    assert (varies["step_count"], varies["low_ns"], varies["high_ns"]) == (11, 70, 130)
    assert varies["spread_ratio"] == pytest.approx(0.6)
    assert "verdict.steps-vary" not in said(steps_of([50, 80, 80, 90, 95, 100, 105, 110, 120, 129, 900]))
    assert "verdict.steps-vary" not in said(steps_of(lengths[:9]))
