"""R-MEM-2: a leak is told, a cache is told as one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from duckdb import DuckDBPyConnection

from ascend_sn.model.trace_schema import CAPACITY_METRIC, RESIDENT_COUNTER
from tests.timeline import empty_tables, insert, together
from tests.unit.advisor.advised import advised, found
from tests.unit.report.drawn import add_rank

MIB = 1 << 20
STEP = 100
STEPS = 100


def steps(db: DuckDBPyConnection) -> None:
    add_rank(db, 0)
    with together(db):
        for step in range(STEPS):
            insert(db, "step", rank=0, step_id=step, step=step, ts_ns=step * STEP, dur_ns=STEP, origin="mark")
            insert(db, "kernel", rank=0, kernel_id=step, device_id=0, stream="1", name="A", kind="compute",
                   ts_ns=step * STEP, dur_ns=STEP // 2, step_id=step)  # fmt: skip


def curve(floor: Callable[[int], int], *, capacity: int | None = None) -> DuckDBPyConnection:
    """Steps whose memory is at a floor at their begin and 50 MiB above it in the middle."""
    db = empty_tables()
    steps(db)
    with together(db):
        for step in range(STEPS):
            for offset, above in ((0, 0), (STEP // 2, 50 * MIB), (STEP - 1, 0)):
                insert(db, "memory_sample", rank=0, ts_ns=step * STEP + offset, component="PTA",
                       allocated_bytes=floor(step) + above, reserved_bytes=2000 * MIB)  # fmt: skip
    if capacity is not None:
        insert(db, "metric", rank=0, name=CAPACITY_METRIC, ts_ns=0, value=float(capacity))
    return db


def leaking(step: int) -> int:
    return (1000 + 4 * step) * MIB


def settling(step: int) -> int:
    return (1000 + 10 * min(step, 40)) * MIB


def test_a_floor_that_rises_to_the_end_is_a_leak() -> None:
    finding = found(curve(leaking), "R-MEM-2")

    assert finding is not None
    assert (finding.grade, finding.severity) == ("leak", "warning")
    assert finding.message.params["slope_bytes"] == 4 * MIB
    assert finding.gain is None


def test_steps_until_the_memory_is_full_make_it_critical() -> None:
    # The last floor is 1396 MiB, its peak 1446: 4 MiB a step fill another 400 MiB in 100 steps.
    finding = found(curve(leaking, capacity=1846 * MIB), "R-MEM-2")

    assert finding is not None
    assert finding.severity == "critical"
    assert finding.message.message_id == "rule.r-mem-2.message-left"
    assert (finding.message.params["left_count"], finding.message.params["left_ns"]) == (100, 100 * STEP)


def test_ten_thousand_steps_are_no_emergency() -> None:
    at, below = 1446 * MIB + 40_000 * MIB, 1446 * MIB + 39_996 * MIB

    assert found(curve(leaking, capacity=at), "R-MEM-2").severity == "warning"  # type: ignore[union-attr]
    assert found(curve(leaking, capacity=below), "R-MEM-2").severity == "critical"  # type: ignore[union-attr]


def test_a_floor_that_settles_is_called_a_cache() -> None:
    finding = found(curve(settling), "R-MEM-2")

    assert finding is not None
    assert (finding.grade, finding.severity) == ("cache", "info")
    assert finding.title.message_id == "rule.r-mem-2.title-cache"


def test_a_small_cache_is_not_worth_a_word() -> None:
    assert advised(curve(lambda step: (1000 + min(step, 40)) * MIB), "R-MEM-2").quiet == ("R-MEM-2",)


def test_a_steady_floor_is_quiet() -> None:
    assert advised(curve(lambda step: (1000 + step % 3) * MIB), "R-MEM-2").quiet == ("R-MEM-2",)


def test_the_process_on_the_host_is_told_apart() -> None:
    db = empty_tables()
    steps(db)
    with together(db):
        for step in range(STEPS):
            insert(
                db,
                "counter",
                rank=0,
                name=RESIDENT_COUNTER,
                unit="bytes",
                ts_ns=step * STEP,
                value=float(leaking(step)),
            )

    finding = found(db, "R-MEM-2")

    assert finding is not None
    assert finding.title.message_id == "rule.r-mem-2.title-host"


def test_the_line_that_keeps_blocks_is_named() -> None:
    # Each step allocates two blocks of 4 MiB in one place and frees one.
    db = empty_tables()
    steps(db)
    insert(db, "stack", rank=0, stack_id=7, frames="torch/x.py(1): f\ntrain.py(12): step\nmain.py(3)")
    level = 0
    with together(db):
        for step in range(STEPS):
            at = step * STEP
            for place, (kind, address) in enumerate(
                (("alloc", f"kept{step}"), ("alloc", "temporary"), ("free", "temporary"))
            ):
                level += 4 * MIB if kind == "alloc" else -4 * MIB
                insert(
                    db,
                    "memory_event",
                    rank=0,
                    ts_ns=at + 10 * place,
                    kind=kind,
                    size_bytes=4 * MIB,
                    address=address,
                    device="NPU:0",
                    operator_name="aten::empty",
                    stack_id=7,
                    allocated_bytes=1000 * MIB + level,
                )

    finding = found(db, "R-MEM-2")

    assert finding is not None
    assert finding.location.site == "train.py(12): step"
    assert finding.advice.message_id == "rule.r-mem-2.advice-site"
    assert (finding.advice.params["blocks_count"], finding.advice.params["site_bytes"]) == (1, 4 * MIB)


@pytest.mark.parametrize(("steps_count", "judged"), [(30, 27), (32, 29)])
def test_growth_over_too_few_steps_is_not_judged_and_it_is_said(steps_count: int, judged: int) -> None:
    db = curve(lambda step: 100 * MIB + step * MIB)
    db.execute(f"delete from step where step_id >= {steps_count}")

    said = advised(db, "R-MEM-2")

    (lacking,) = said.not_collected
    assert lacking.reason == f"too few steps: {judged} can be judged, 30 are needed"
    assert lacking.turn_on == "a capture of 34 steps or more"
    assert said.quiet == ()


def test_thirty_three_whole_steps_are_enough() -> None:
    db = curve(lambda step: 100 * MIB + step * MIB)
    db.execute("delete from step where step_id >= 33")

    assert found(db, "R-MEM-2") is not None
