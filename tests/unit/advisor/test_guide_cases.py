"""The cases of the guides, all rules at once: their advice must be named first."""

from __future__ import annotations

import re

import pytest
from duckdb import DuckDBPyConnection

from ascend_sn.advisor.advise import advise
from ascend_sn.advisor.finding import Advice
from tests.timeline import empty_tables, insert, together
from tests.unit.report.drawn import DrawnRun, add_rank

MS = 1_000_000
US = 1_000
GIB = 1 << 30


def vision_model() -> DuckDBPyConnection:
    """All-reduce 30 % of the step, serial with compute; Conv2D at 45 % of the AI Core.

    A step of 100 ms: 10 ms forward, 60 ms of Conv2D in the backward pass, then two reductions of 15 ms each.
    """
    db = empty_tables()
    add_rank(db, 0, device_name="Ascend910B3")
    with together(db):
        for number, phase in enumerate(("forward", "backward")):
            insert(db, "operator", rank=0, operator_id=number, thread="main", name=phase, ts_ns=-1, dur_ns=0, self_ns=0,
                   depth=0, phase=phase)  # fmt: skip
    with together(db):
        for step in range(8):
            begin = step * 100 * MS
            insert(db, "step", rank=0, step_id=step, step=step + 10, ts_ns=begin, dur_ns=100 * MS, origin="mark")
            kernels = [("MatMulV2", 0, 10, 0)] + [("Conv2D", 10 + 10 * at, 10, 1) for at in range(6)]
            for number, (name, at, length, operator) in enumerate(kernels):
                kernel = 100 * step + number
                insert(db, "kernel", rank=0, kernel_id=kernel, device_id=0, stream="1", name=name, op_type=name,
                       core_type="AI_CORE", kind="compute", ts_ns=begin + at * MS, dur_ns=length * MS, step_id=step,
                       operator_id=operator, input_dtypes="FLOAT16;FLOAT16", output_dtypes="FLOAT16",
                       input_shapes="64,256,56,56;256,256,3,3", output_shapes="64,256,56,56")  # fmt: skip
                share = 0.45 if name == "Conv2D" else 0.9
                insert(db, "kernel_metric", rank=0, kernel_id=kernel, metric="aic_mac_ratio", value=share)
                insert(db, "kernel_metric", rank=0, kernel_id=kernel, metric="aic_mte2_ratio", value=0.5)
            for number in range(2):
                kernel = 100 * step + 50 + number
                at = begin + (70 + 15 * number) * MS
                insert(db, "kernel", rank=0, kernel_id=kernel, device_id=0, stream="2", name="hcom_allReduce_",
                       kind="communication", ts_ns=at, dur_ns=15 * MS, step_id=step)  # fmt: skip
                insert(db, "collective", rank=0, collective_id=2 * step + number, kernel_id=kernel, op="allreduce",
                       name="hcom_allReduce_", group_id="g", sequence=2 * step + number, size_bytes=200_000_000,
                       dtype="float16", ts_ns=at, dur_ns=15 * MS, transit_ns=15 * MS, wait_ns=0, idle_ns=0,
                       method="recorded")  # fmt: skip
    return db


def small_operators(name_of_pause: str = "aclrtSynchronizeStream") -> DuckDBPyConnection:
    """ReLU and Add in turn, 8 us each; after each the host waits for it, then needs 20 us to launch the next."""
    db = empty_tables()
    add_rank(db, 0)
    pair = 34 * US
    with together(db):
        for step in range(8):
            begin = step * 40 * pair
            insert(db, "step", rank=0, step_id=step, step=step + 10, ts_ns=begin, dur_ns=40 * pair, origin="mark")
            for at in range(40):
                number, start = 40 * step + at, begin + at * pair
                name = "Relu" if at % 2 else "Add"
                insert(db, "operator", rank=0, operator_id=number, thread="main", name=f"aten::{name.lower()}",
                       ts_ns=start, dur_ns=20 * US, self_ns=15 * US, depth=0, phase="forward")  # fmt: skip
                insert(db, "host_call", rank=0, host_call_id=2 * number, thread="main", name="aclrtLaunchKernel",
                       ts_ns=start + 15 * US, dur_ns=5 * US, connection=str(number))  # fmt: skip
                insert(db, "kernel", rank=0, kernel_id=number, device_id=0, stream="1", name=name, op_type=name,
                       core_type="AI_VECTOR_CORE", kind="compute", ts_ns=start + 24 * US, dur_ns=8 * US, step_id=step,
                       operator_id=number, host_call_id=2 * number)  # fmt: skip
                insert(db, "host_call", rank=0, host_call_id=2 * number + 1, thread="main", name=name_of_pause,
                       ts_ns=start + 21 * US, dur_ns=12 * US)  # fmt: skip
    return db


def said_of(db: DuckDBPyConnection) -> Advice:
    return advise(DrawnRun(db))


def test_serial_communication_and_badly_used_cores_are_named_first() -> None:
    said = said_of(vision_model())

    first = [finding.code for finding in said.findings][:3]
    assert set(first) == {"R-COMM-0", "R-COMM-1", "R-OP-4"}
    graded = next(finding for finding in said.findings if finding.code == "R-COMM-0")
    assert (graded.grade, graded.severity) == ("severe", "critical")
    low = next(finding for finding in said.findings if finding.code == "R-OP-4")
    assert low.message.params["utilisation_ratio"] == pytest.approx(0.45)
    assert said.plan is not None
    assert {step.code for step in said.plan.steps} >= {"R-COMM-1", "R-OP-4"}


def test_waits_between_small_operators_are_named_first() -> None:
    said = said_of(small_operators())

    first = said.findings[0]
    assert first.code == "R-HOST-2"
    assert first.gain is not None
    # Of every 34 us, the host would spend 22 without the wait.
    assert (first.gain.expected_ns, first.gain.base_ns) == (40 * 12 * US, 40 * 34 * US)
    assert {held.code for held in said.suppressed} >= {"R-OP-1", "R-HOST-1"}  # until the waits are gone


def test_no_advice_is_given_twice_in_the_plan() -> None:
    for db in (vision_model(), small_operators()):
        plan = said_of(db).plan

        assert plan is not None
        names = [step.id for step in plan.steps]
        assert len(names) == len(set(names))
        assert all(re.fullmatch(r"R-[A-Z]+-\d(#\d+)?", name) for name in names)


def test_a_larger_batch_is_held_back_near_the_memory_limit() -> None:
    db = small_operators("aclrtRecordEvent")
    with together(db):
        for step in range(8):
            begin = step * 40 * 34 * US
            for at, size in enumerate((40, 58, 40)):
                insert(db, "memory_sample", rank=0, ts_ns=begin + at * 400 * US, component="PTA",
                       allocated_bytes=size * GIB, reserved_bytes=60 * GIB)  # fmt: skip
    insert(db, "metric", rank=0, name="memory_capacity_bytes", ts_ns=0, value=float(64 * GIB))

    said = said_of(db)

    assert "R-BS-1" not in {finding.code for finding in said.findings}
    held = [one for one in said.suppressed if one.code == "R-BS-1"]
    assert [one.reason.message_id for one in held] in ([], ["suppressed.memory-full"])
