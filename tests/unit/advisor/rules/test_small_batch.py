"""R-BS-1: the batch is small, and a larger one fits."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from ascend_sn.model.trace_schema import CAPACITY_METRIC
from tests.timeline import insert, timeline
from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.advisor.rules.test_memory_limit import GIB
from tests.unit.replay.drawings import launch

STEP = "1" * 40


def training(
    lane: str, *, activation_gib: float = 20, rest_gib: float = 20, capacity_gib: float | None = 64
) -> DuckDBPyConnection:
    """A step of 40; activations come with the first forward kernel and go before the end."""
    db = timeline(f"r0 step |{STEP}|\nr0 s1 |{lane}|", launched_by={"F": "forward", "B": "backward"})
    ((forward,),) = db.sql("select operator_id from operator where phase = 'forward'").fetchall()
    rest, added = round(rest_gib * GIB), round(activation_gib * GIB)
    for ts, kind, size, level, operator in ((0, "alloc", rest, rest, None), (1, "alloc", added, rest + added, forward),
                                            (38, "free", added, rest, None)):  # fmt: skip
        insert(db, "memory_event", rank=0, ts_ns=ts, kind=kind, size_bytes=size, address="a" if ts == 0 else "b",
               device="NPU:0", operator_id=operator, allocated_bytes=level, reserved_bytes=level)  # fmt: skip
    if capacity_gib is not None:
        insert(db, "metric", rank=0, name=CAPACITY_METRIC, ts_ns=0, value=capacity_gib * GIB)
    return db


FREE = "F" * 6 + "." * 14 + "B" * 6 + "." * 14
"""Computes for 12 of 40, 28 are free."""


def test_a_step_that_hardly_computes_is_found_and_priced_per_sample() -> None:
    # The host takes all of the 40, whatever the batch: of two samples each costs 20.
    db = training(".." + "F" * 6 + "." * 12 + "B" * 6 + "." * 14, activation_gib=10)
    launch(db, "FF" + "p" * 16 + "BB" + "q" * 20)

    finding = found(db, "R-BS-1")

    assert finding is not None
    assert finding.gain is not None
    assert (finding.gain.change, finding.gain.low_ns, finding.gain.expected_ns) == ("W14", 20, 20)
    assert finding.advice.params["projected_bytes"] == 40 * GIB
    assert finding.message.message_id == "rule.r-bs-1.message-busy"  # no chip in the table: no use of its cores


def test_near_the_memory_limit_it_is_held_back_with_the_projected_size() -> None:
    # 20 + 2 x 20 of 64 GiB: 94 %.
    (held,) = advised(training(FREE), "R-BS-1").suppressed

    assert held.reason.message_id == "suppressed.memory-full"
    assert held.reason.params["projected_bytes"] == 60 * GIB
    assert held.reason.params["projected_ratio"] == 60 / 64


def test_ninety_percent_still_fits() -> None:
    assert found(training(FREE, rest_gib=17.6), "R-BS-1") is not None
    assert suppressed(training(FREE, rest_gib=17.61), "R-BS-1") == ["suppressed.memory-full"]


def test_a_full_device_and_a_larger_batch_are_never_advised_together() -> None:
    db = training(FREE, rest_gib=38)
    advice = advised(db, "R-BS-1", "R-MEM-1")

    assert [finding.code for finding in advice.findings] == ["R-MEM-1"]
    assert [held.code for held in advice.suppressed] == ["R-BS-1"]


def test_an_unknown_capacity_is_said() -> None:
    finding = found(training(FREE, capacity_gib=None), "R-BS-1")

    assert finding is not None
    assert finding.advice.message_id == "rule.r-bs-1.advice-capacity-unknown"
    assert finding.confidence == "low"


def test_unknown_memory_is_said() -> None:
    db = training(FREE)
    db.execute("delete from memory_event")

    finding = found(db, "R-BS-1")

    assert finding is not None
    assert finding.advice.message_id == "rule.r-bs-1.advice"


def test_a_busy_device_is_left_alone() -> None:
    # 20 of 40 computed is half: not below it. 19 is.
    assert advised(training("F" * 10 + "." * 20 + "B" * 10, activation_gib=1), "R-BS-1").quiet == ("R-BS-1",)
    assert advised(training("F" * 9 + "." * 21 + "B" * 10, activation_gib=1), "R-BS-1").quiet == ()


def test_time_that_loads_data_does_not_count_as_fixed() -> None:
    db = training(FREE, activation_gib=1)
    insert(db, "operator", rank=0, operator_id=9, thread="main", name="load", ts_ns=6, dur_ns=14, self_ns=14, depth=0,
           phase="data")  # fmt: skip
    insert(db, "operator", rank=0, operator_id=10, thread="main", name="load", ts_ns=26, dur_ns=3, self_ns=3, depth=0,
           phase="data")  # fmt: skip

    assert advised(db, "R-BS-1").quiet == ("R-BS-1",)


def test_inference_is_not_told_to_train_with_larger_batches() -> None:
    db = training(FREE, activation_gib=1)
    db.execute("update operator set phase = 'forward'")

    assert advised(db, "R-BS-1").quiet == ("R-BS-1",)


def test_waiting_for_other_ranks_is_not_a_small_batch() -> None:
    lane = "F" * 6 + "." * 13 + "CCCCCCCC" + "B" * 6 + "." * 7
    db = timeline(f"r0 step |{STEP}|\nr0 s1 |{lane}|", kinds={"C": "communication"},
                  launched_by={"F": "forward", "B": "backward"})  # fmt: skip
    ((kernel,),) = db.sql("select kernel_id from kernel where kind = 'communication'").fetchall()
    insert(db, "collective", rank=0, collective_id=0, kernel_id=kernel, op="allreduce", name="c", group_id="g",
           sequence=0, size_bytes=8, ts_ns=19, dur_ns=8, transit_ns=0, wait_ns=8, idle_ns=0,
           method="recorded")  # fmt: skip

    assert suppressed(db, "R-BS-1") == ["suppressed.waits-dominate"]


def test_kernels_too_short_for_the_chip_are_enough() -> None:
    # A busy device whose units and memory path all work for less than half of their cycles, by its own ratios.
    db = training("F" * 20 + "B" * 20, activation_gib=1)
    db.execute("""
        insert into kernel_metric by name
        select profile_id, rank, kernel_id, metric, ratio as value
        from kernel, (values ('mac_ratio', 0.1), ('vec_ratio', 0.1), ('mte2_ratio', 0.3)) given (metric, ratio)
    """)
    db.execute("update kernel set input_shapes = '8,8', input_dtypes = 'FLOAT', output_shapes = '8,8', "
               "output_dtypes = 'FLOAT', core_type = 'AI_CORE'")  # fmt: skip

    finding = found(db, "R-BS-1")

    assert finding is not None
    assert finding.message.message_id == "rule.r-bs-1.message-latency"
    assert (finding.message.params["latency_ratio"], finding.message.params["utilisation_ratio"]) == (1, 0.1)
