"""R-OPT-1: an optimizer of many kernels."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from tests.timeline import insert, timeline, together
from tests.unit.advisor.advised import advised, found, suppressed

SHAPE = "1024"


def updated(kernels: int, *, each_ns: int = 2, rest_ns: int = 100, step_ns: int | None = None) -> DuckDBPyConnection:
    """A step that computes for `rest_ns`, then updates its weights with so many kernels, one host call each."""
    db = timeline("r0 step |5|")
    length = rest_ns + kernels * each_ns if step_ns is None else step_ns
    db.execute("update step set dur_ns = ?", [length])
    insert(db, "operator", rank=0, operator_id=0, thread="host", name="aten::mm", ts_ns=0, dur_ns=1, self_ns=1, depth=0,
           phase="forward")  # fmt: skip
    insert(db, "kernel", rank=0, kernel_id=0, device_id=0, stream="1", name="MatMul", op_type="MatMul", kind="compute",
           ts_ns=0, dur_ns=rest_ns, step_id=0, operator_id=0)  # fmt: skip
    # The host waits for the end of the step.
    insert(db, "host_call", rank=0, host_call_id=1, thread="host", level="acl", name="aclrtSynchronizeDevice",
           ts_ns=kernels + 1, dur_ns=max(length - kernels - 1, 1))  # fmt: skip
    with together(db):
        for number in range(1, kernels + 1):
            insert(db, "operator", rank=0, operator_id=number, thread="host", name="aten::mul_", ts_ns=number, dur_ns=1,
                   self_ns=1, depth=0, phase="optimizer")  # fmt: skip
            insert(
                db,
                "kernel",
                rank=0,
                kernel_id=number,
                device_id=0,
                stream="1",
                name="Mul",
                op_type="Mul",
                kind="compute",
                ts_ns=rest_ns + (number - 1) * each_ns,
                dur_ns=each_ns,
                step_id=0,
                operator_id=number,
                input_shapes=SHAPE,
                input_dtypes="FLOAT",
                output_shapes=SHAPE,
                output_dtypes="FLOAT",
            )
    return db


def test_many_optimizer_kernels_are_found_and_priced_as_one() -> None:
    finding = found(updated(60), "R-OPT-1")

    assert finding is not None
    params = finding.message.params
    assert (params["kernel_count"], params["phase_ns"]) == (60, 120)
    assert finding.gain is not None
    # 60 x (read + write) becomes one read and one write: 1/60 of 120, the bandwidth being the same.
    assert (finding.gain.change, finding.gain.expected_ns) == ("W7", 118)
    assert finding.gain.low_ns <= finding.gain.expected_ns


def test_fifty_kernels_are_few_enough() -> None:
    assert advised(updated(50), "R-OPT-1").quiet == ("R-OPT-1",)
    assert advised(updated(51), "R-OPT-1").quiet == ()


def test_the_phase_counts_from_the_threshold_on() -> None:
    # 60 kernels of 1: 60 of 2000 are 3 %.
    assert advised(updated(60, each_ns=1, rest_ns=1_940), "R-OPT-1").quiet == ()
    assert advised(updated(60, each_ns=1, rest_ns=1_960), "R-OPT-1").quiet == ("R-OPT-1",)


def test_a_fused_call_that_is_known_by_name_is_told_by_its_own_rule() -> None:
    db = updated(60)
    insert(db, "operator", rank=0, operator_id=99, thread="host", name="Optimizer.step#SGD.step", ts_ns=1, dur_ns=60,
           self_ns=0, depth=0, phase="optimizer")  # fmt: skip

    assert suppressed(db, "R-OPT-1") == ["suppressed.told-by"]


def test_an_inference_has_no_optimizer() -> None:
    db = updated(60)
    db.execute("update operator set phase = 'forward'")

    assert advised(db, "R-OPT-1").quiet == ("R-OPT-1",)


def test_a_framework_on_the_host_has_fused_optimizers_too() -> None:
    on_cpu, named = updated(60), updated(60)
    on_cpu.execute("update profile set device_kind = 'cpu'")
    named.execute("update profile set device_kind = 'host'")

    assert advised(on_cpu, "R-OPT-1").quiet == ()
    assert advised(named, "R-OPT-1").quiet == ("R-OPT-1",)
