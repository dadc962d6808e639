"""R-OP-2: sequences of operators that one call replaces."""

from __future__ import annotations

import pytest
from duckdb import DuckDBPyConnection

from ascend_sn.advisor.rules.affinity_calls import _older
from tests.timeline import insert, timeline, together
from tests.unit.advisor.advised import advised, found, suppressed


def sequence(*names: str, each_ns: int = 10, phase: str = "forward", step_ns: int | None = None) -> DuckDBPyConnection:
    """A step of operators, each with one elementwise kernel of the same size, one after another."""
    db = timeline("r0 step |5|")
    db.execute("update step set dur_ns = ?", [len(names) * each_ns if step_ns is None else step_ns])
    with together(db):
        for number, name in enumerate(names):
            insert(
                db,
                "operator",
                rank=0,
                operator_id=number,
                thread="host",
                name=name,
                ts_ns=number,
                dur_ns=1,
                self_ns=1,
                depth=0,
                phase=phase,
            )
            kind = "MatMul" if "matmul" in name else name.removeprefix("aten::")
            insert(
                db,
                "kernel",
                rank=0,
                kernel_id=number,
                device_id=0,
                stream="1",
                name=kind,
                op_type=kind,
                kind="compute",
                ts_ns=number * each_ns,
                dur_ns=each_ns,
                step_id=0,
                operator_id=number,
                input_shapes="64,64",
                input_dtypes="FLOAT",
                output_shapes="64,64",
                output_dtypes="FLOAT",
            )
    insert(db, "host_call", rank=0, host_call_id=0, thread="host", level="acl", name="aclrtSynchronizeDevice",
           ts_ns=len(names), dur_ns=len(names) * each_ns - len(names))  # fmt: skip
    return db


def test_a_sequence_is_found_and_priced_as_one_kernel() -> None:
    # silu and mul read and write 4 sizes of which 2 are intermediate: half of their 20, but no less than a kernel's 10.
    finding = found(sequence("aten::silu", "aten::mul", "aten::sum"), "R-OP-2")

    assert finding is not None
    params = finding.message.params
    assert (params["api"], params["sequence"], params["match_count"]) == ("torch_npu.npu_swiglu", "silu mul", 1)
    assert (params["device_ns"], params["kernel_count"]) == (20, 2)
    assert finding.gain is not None
    assert (finding.gain.change, finding.gain.expected_ns, finding.gain.base_ns) == ("W7", 10, 30)


def test_matrix_products_inside_keep_their_time() -> None:
    db = sequence("aten::matmul", "aten::div", "aten::masked_fill", "aten::softmax", "aten::matmul", "aten::sum")

    finding = found(db, "R-OP-2")

    assert finding is not None
    assert finding.message.params["api"] == "torch_npu.npu_fusion_attention"
    assert finding.gain is not None
    # div, masked_fill and softmax: 6 sizes of which 4 are intermediate, a third of 30.
    assert finding.gain.expected_ns == 20


def test_what_a_longer_sequence_holds_is_not_told_twice() -> None:
    db = sequence("aten::matmul", "aten::div", "aten::masked_fill", "aten::softmax", "aten::matmul", "aten::sum")

    advice = advised(db, "R-OP-2")

    assert [finding.message.params["api"] for finding in advice.findings] == ["torch_npu.npu_fusion_attention"]
    assert [(held.message.params["api"], held.reason.message_id) for held in advice.suppressed] == [
        ("torch_npu.npu_scaled_masked_softmax", "suppressed.part-of")
    ]


def test_time_counts_from_the_threshold_on() -> None:
    # 20 of 200: 10 %.
    db = sequence("aten::silu", "aten::mul", "aten::sum", step_ns=200)

    assert advised(db, "R-OP-2", thresholds=["R-OP-2.time_from_ratio=0.10"]).quiet == ()
    assert advised(db, "R-OP-2", thresholds=["R-OP-2.time_from_ratio=0.11"]).quiet == ("R-OP-2",)


def optimizer(*, trains: bool) -> DuckDBPyConnection:
    """The step of an optimizer with three kernels of 10 within 40."""
    db = sequence("aten::matmul", "aten::mul", "aten::add", "aten::add")
    db.execute("update operator set phase = 'optimizer' where operator_id > 0")
    insert(db, "operator", rank=0, operator_id=9, thread="host", name="Optimizer.step#SGD.step", ts_ns=1, dur_ns=3,
           self_ns=0, depth=0, phase="optimizer")  # fmt: skip
    if trains:
        db.execute("update operator set phase = 'backward' where operator_id = 0")
    return db


def test_an_optimizer_names_its_largest_kernel() -> None:
    finding = found(optimizer(trains=True), "R-OP-2")

    assert finding is not None
    assert finding.message.params["api"] == "torch_npu.optim.NpuFusedSGD"
    assert finding.message.params["largest"].params == {"op_type": "add", "kernel_ns": 20, "share_ratio": 0.5}
    assert finding.gain is not None
    # Three kernels of 2 sizes each become one of 2: a third of 30, which is no less than a kernel's 10.
    assert finding.gain.expected_ns == 20


def test_an_optimizer_call_is_no_advice_without_training() -> None:
    assert suppressed(optimizer(trains=False), "R-OP-2") == ["suppressed.not-training"]


def test_a_version_that_lacks_the_call_holds_it_back() -> None:
    old, new = (sequence("aten::silu", "aten::mul", "aten::sum") for _ in range(2))
    old.execute("""update profile set versions = '{"cann": "6.3.RC2"}'""")
    new.execute("""update profile set versions = '{"cann": "8.0.RC1"}'""")

    assert suppressed(old, "R-OP-2") == ["suppressed.version-lacks-call"]
    assert suppressed(new, "R-OP-2") == []


@pytest.mark.parametrize(
    ("version", "since", "older"),
    [
        ("7.0.RC1", "7.0.0", True),
        ("7.0.0", "7.0.RC1", False),
        ("6.3.RC2", "6.3.RC2", False),
        ("8.0.RC1", "7.0.0", False),
        ("6.3.RC1", "6.3.RC2", True),
        ("10.1.0", "8.0.RC1", False),
    ],
)
def test_release_candidates_come_before_the_release(version: str, since: str, older: bool) -> None:
    assert _older(version, since) is older


def test_other_devices_have_other_calls() -> None:
    db = sequence("aten::silu", "aten::mul", "aten::sum")
    db.execute("update profile set device_kind = 'cuda'")

    assert advised(db, "R-OP-2").quiet == ("R-OP-2",)
