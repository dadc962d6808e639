"""R-OP-3: work on the AI CPU, on a vector core or on the host."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from tests.timeline import insert, timeline
from tests.unit.advisor.advised import advised, found, suppressed


def on_cores(kernels: str, cores: dict[str, str], *, steps: str = "") -> DuckDBPyConnection:
    """A step whose kernels ran on the core of their letter; all were launched by a forward operator."""
    db = timeline(
        f"r0 step |{steps or '1' * len(kernels)}|\nr0 s1 |{kernels}|",
        launched_by={letter: "forward" for letter in cores},
    )
    for letter, core in cores.items():
        db.execute("update kernel set core_type = ? where op_type = ?", [core, letter])
    return db


def test_a_kernel_on_the_ai_cpu_without_a_peer_is_told_without_a_price() -> None:
    db = on_cores("MMMMIIIIIIMMMMMMMMMM", {"M": "AI_CORE", "I": "AI_CPU"})

    finding = found(db, "R-OP-3")

    assert finding is not None
    params = finding.message.params
    assert (params["name"], params["operator"], params["core"], params["lost_ns"]) == ("I", "forward", "AI_CPU", 6)
    assert (params["share_ratio"], params["lost_ratio"]) == (6 / 20, 6 / 20)
    assert (finding.gain, finding.severity, finding.at_stake_ns) == (None, "info", 6)


def test_a_peer_on_another_core_gives_the_price() -> None:
    # I runs 6 on the AI CPU, 2 on the AI Core.
    db = on_cores("MMMMIIIIIIMMMMMMI'II", {"M": "AI_CORE", "I": "AI_CPU"})
    db.execute("update kernel set core_type = 'AI_CORE', dur_ns = 2 where op_type = 'I' and ts_ns > 10")

    finding = found(db, "R-OP-3")

    assert finding is not None
    assert finding.gain is not None
    assert (finding.gain.change, finding.gain.expected_ns) == ("W10", 4)


def test_an_input_type_that_fast_cores_lack_is_named() -> None:
    db = on_cores("MMMMIIIIIIMMMMMMMMMM", {"M": "AI_CORE", "I": "AI_CPU"})
    db.execute("update kernel set input_dtypes = 'INT64;FLOAT' where op_type = 'I'")

    finding = found(db, "R-OP-3")

    assert finding is not None
    assert finding.advice.message_id == "rule.r-op-3.advice-dtype"
    assert finding.advice.params["dtype"] == "int64"


def test_time_counts_from_the_threshold_on() -> None:
    # 2 of 20: 10 %.
    db = on_cores("MMMMIIMMMMMMMMMMMMMM", {"M": "AI_CORE", "I": "AI_CPU"})

    assert found(db, "R-OP-3", thresholds=["R-OP-3.time_from_ratio=0.10"]) is not None
    assert found(db, "R-OP-3", thresholds=["R-OP-3.time_from_ratio=0.11"]) is None


def test_matrix_work_on_a_vector_core_is_named_so() -> None:
    db = on_cores("AAAABBBB", {"A": "AI_CORE", "B": "AI_VECTOR_CORE"})
    db.execute("update kernel set op_type = 'MatMulV2' where op_type = 'B'")

    finding = found(db, "R-OP-3")

    assert finding is not None
    assert finding.title.message_id == "rule.r-op-3.title-vector"
    assert finding.message.params["name"] == "MatMulV2"


def fallback() -> DuckDBPyConnection:
    """The device is free 5..15; on the host `aten::isin` runs 6..14 without a kernel."""
    db = on_cores("AAAAA..........BBBBB", {"A": "AI_CORE", "B": "AI_CORE"})
    insert(db, "operator", rank=0, operator_id=50, thread="host", name="aten::isin", ts_ns=6, dur_ns=8, self_ns=8,
           depth=0, phase="forward")  # fmt: skip
    return db


def test_an_operator_without_a_kernel_while_the_device_idles_is_host_work() -> None:
    finding = found(fallback(), "R-OP-3")

    assert finding is not None
    assert finding.title.message_id == "rule.r-op-3.title-host"
    assert (finding.message.params["name"], finding.message.params["lost_ns"]) == ("aten::isin", 8)


def test_an_operator_that_allocates_is_no_host_work() -> None:
    db = fallback()
    insert(db, "operator", rank=0, operator_id=51, parent_id=50, thread="host", name="aten::empty", ts_ns=6, dur_ns=7,
           self_ns=7, depth=1, phase="forward")  # fmt: skip

    assert found(db, "R-OP-3") is None


def test_without_marked_steps_host_work_may_be_set_up() -> None:
    db = fallback()
    db.execute("delete from step")
    db.execute("update kernel set step_id = null")

    assert suppressed(db, "R-OP-3")[0] == "suppressed.may-be-set-up"


def test_the_largest_operator_on_its_core_is_no_problem() -> None:
    db = on_cores("MMMMMMMMMMMMMMMMAAAA", {"M": "AI_CORE", "A": "AI_VECTOR_CORE"})

    advice = advised(db, "R-OP-3")

    assert advice.findings == ()
    (held,) = advice.suppressed
    assert held.reason.message_id == "suppressed.core-is-right"
    assert held.message.params["name"] == "M"
