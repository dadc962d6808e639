"""The guide's third training: small operators keep the chip idle, and the memory is almost full."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from ascend_sn.advisor.advise import advise
from ascend_sn.model.trace_schema import CAPACITY_METRIC
from ascend_sn.report.assemble.run import assemble
from ascend_sn.report.documents.views import Selection
from ascend_sn.report.words.finding_text import held_text
from ascend_sn.report.words.language import Language
from tests.integration.guide_trainings import STEP_NS, STEPS, small_operator_training
from tests.timeline import insert, together
from tests.unit.report.drawn import DrawnRun

GIB = 1 << 30


def training(capacity_gib: int) -> DuckDBPyConnection:
    """The second half of the operators is the backward pass; activations of 24 GiB lie on 30 GiB until its end."""
    db = small_operator_training()
    db.execute("update operator set phase = 'backward' where operator_id % 50 >= 10")
    insert(db, "memory_event", rank=0, ts_ns=0, kind="alloc", size_bytes=30 * GIB, address="model", device="NPU:0",
           allocated_bytes=30 * GIB, reserved_bytes=54 * GIB)  # fmt: skip
    with together(db):
        for step in range(STEPS):
            begin = step * STEP_NS
            for at, kind, level in ((10_000, "alloc", 54), (900_000, "free", 30)):
                insert(
                    db,
                    "memory_event",
                    rank=0,
                    ts_ns=begin + at,
                    kind=kind,
                    size_bytes=24 * GIB,
                    address=f"kept{step}",
                    device="NPU:0",
                    operator_id=100 * step,
                    allocated_bytes=level * GIB,
                    reserved_bytes=54 * GIB,
                )
    insert(db, "metric", rank=0, name=CAPACITY_METRIC, ts_ns=0, value=float(capacity_gib * GIB))
    return db


def test_a_larger_batch_is_advised_where_it_fits() -> None:
    # 54 and 24 of 128 GiB.
    (found,) = (one for one in advise(DrawnRun(training(128))).findings if one.code == "R-BS-1")

    assert found.gain is not None
    assert found.gain.change == "W14"
    assert "78.0 GiB (61 % of 128 GiB)" in Language.load("en").render(found.advice)
    assert "78.0 GiB" in Language.load("zh").render(found.advice)


def test_near_the_limit_it_is_held_back_with_the_size_it_would_need() -> None:
    # The same of 60 GiB, of which 54 are 90 %: near the limit, which is told instead.
    advice = advise(DrawnRun(training(60)))

    assert "R-BS-1" not in {one.code for one in advice.findings}
    (held,) = (one for one in advice.suppressed if one.code == "R-BS-1")
    assert held.reason.message_id == "suppressed.memory-full"
    assert held.reason.params["projected_bytes"] == 78 * GIB
    (near,) = (one for one in advice.findings if one.code == "R-MEM-1")
    assert (near.grade, near.severity) == ("near", "warning")
    # Recomputing frees the activations and costs the forward pass once more.
    assert near.advice.params["freed_bytes"] == 24 * GIB
    assert near.gain is not None
    assert near.gain.expected_ns < 0


def test_the_projected_size_is_shown_in_both_languages() -> None:
    for code, words in (("en", "It does not fit"), ("zh", "放不下")):
        language = Language.load(code)  # type: ignore[arg-type]
        document = assemble(DrawnRun(training(60)), language, selection=Selection())
        (held,) = (one for one in document.findings.suppressed if one.rule == "R-BS-1")

        said = held_text(held, language)
        assert words in said
        assert "78.0 GiB" in said
