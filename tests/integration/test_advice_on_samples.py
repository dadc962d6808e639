"""Advice on host and operators: on the samples and field cases, and on the guide's two trainings."""

from __future__ import annotations

from functools import cache

import pytest

import ascend_sn
from ascend_sn.advisor.advise import advise
from ascend_sn.advisor.finding import Advice, Finding
from ascend_sn.report.words.language import Language
from tests.integration.guide_trainings import serial_training, small_operator_training
from tests.shared_data import requires_shared, shared_path
from tests.unit.report.drawn import DrawnRun

LEVEL1 = ("data", "torch_npu", "text", "level1")
LEVEL1_DB = ("data", "torch_npu", "db", "level1")
DV16 = ("cases", "dv16_fallback_op", "node-a_41000_20251009081320123_ascend_pt")
KINETO = ("data", "kineto", "critical_path")


@cache
def advice(*parts: str) -> Advice:
    with ascend_sn.open(shared_path(*parts)) as run:
        return ascend_sn.advise(run)


def codes(said: Advice) -> list[str]:
    return [finding.code for finding in said.findings]


def found(said: Advice, code: str) -> Finding:
    return next(finding for finding in said.findings if finding.code == code)


def recoverable_ns(finding: Finding) -> int:
    return finding.at_stake_ns or 0 if finding.gain is None else finding.gain.expected_ns


@requires_shared
@pytest.mark.parametrize("parts", [LEVEL1, LEVEL1_DB], ids=["text", "db"])
def test_level1_compiles_on_the_host_and_loses_part_of_it(parts: tuple[str, ...]) -> None:
    finding = found(advice(*parts), "R-HOST-4")

    params = finding.message.params
    assert 14e6 <= params["compile_ns"] <= 28.5e6
    assert 0 < params["free_ns"] <= params["compile_ns"]
    # 19 calls of aclopCompileAndExecute in the step; opCompile lies within them.
    assert params["compile_count"] == 19


@requires_shared
def test_level1_names_foreach_add_list_as_a_fifth_of_compute() -> None:
    finding = found(advice(*LEVEL1), "R-OP-2")

    assert finding.message.params["api"] == "torch_npu.optim.NpuFusedSGD"
    largest = finding.message.params["largest"].params
    assert largest["op_type"] == "ForeachAddList"
    assert largest["kernel_ns"] == pytest.approx(1_959_079, abs=1)  # golden.json
    assert largest["share_ratio"] == pytest.approx(0.22, abs=0.005)
    assert finding.gain is not None
    assert 0 < finding.gain.high_ns < 2_264_945  # its four kernels


@requires_shared
def test_level1_converts_formats_for_a_sixth_of_compute() -> None:
    finding = next(one for one in advice(*LEVEL1).findings if one.code == "R-OP-6")

    assert finding.message.params["names"] == "TransData"
    assert finding.message.params["call_count"] == 57
    assert finding.message.params["time_ns"] == pytest.approx(1_423_202, rel=0.01)
    assert finding.advice.message_id == "rule.r-op-6.advice-format-npu"


@requires_shared
def test_level1_waits_17_to_20_ms_for_its_first_kernel() -> None:
    finding = found(advice(*LEVEL1), "R-HOST-1")

    assert finding.message.params["before"].params["preparing_ns"] == pytest.approx(17_902_502, abs=1)
    assert finding.gain is not None
    assert finding.gain.high_ns < finding.message.params["free_ns"]


@requires_shared
def test_level1_names_the_line_that_reads_values_back() -> None:
    place = found(advice(*LEVEL1), "R-HOST-2").message.params["place"]

    assert "imagenet_script/main.py" in place
    assert "site-packages" not in place


@requires_shared
@pytest.mark.parametrize("parts", [LEVEL1, LEVEL1_DB], ids=["text", "db"])
def test_level1_ranks_by_the_time_that_is_to_be_had(parts: tuple[str, ...]) -> None:
    said = advice(*parts)

    times = [recoverable_ns(finding) for finding in said.findings]
    assert times == sorted(times, reverse=True)
    order = [code for code in codes(said) if code in ("R-COMM-0", "R-HOST-1", "R-HOST-4", "R-OP-2", "R-OP-6")]
    assert order[:5] == ["R-COMM-0", "R-HOST-1", "R-HOST-4", "R-OP-2", "R-OP-6"]


@requires_shared
@pytest.mark.parametrize("parts", [LEVEL1, LEVEL1_DB], ids=["text", "db"])
def test_level1_is_not_told_to_align_or_that_its_shapes_change(parts: tuple[str, ...]) -> None:
    said = advice(*parts)

    assert {"R-OP-5", "R-OP-8", "R-FREQ-1", "R-OP-1"}.isdisjoint(codes(said))
    assert found(said, "R-HOST-1").advice.message_id == "rule.r-host-1.advice-npu"
    # Its matrix products are bound by memory, so no tiling is advised.
    assert [held.reason.message_id for held in said.suppressed if held.code == "R-OP-4"] == ["suppressed.memory-bound"]


@requires_shared
def test_dv16_leads_with_the_ai_cpu_and_does_not_blame_the_largest_operator() -> None:
    said = advice(*DV16)

    first, second = said.findings[:2]
    assert (first.code, first.message.params["name"], first.message.params["operator"]) == (
        "R-OP-3",
        "Index",
        "aten::index",
    )
    assert first.message.params["lost_ns"] == 4_000_000
    assert first.message.params["share_ratio"] == pytest.approx(0.3922, abs=5e-5)
    assert (second.code, second.message.params["name"], second.message.params["lost_ns"]) == (
        "R-OP-3",
        "aten::isin",
        2_000_000,
    )
    assert [held.message.params["name"] for held in said.suppressed if held.code == "R-OP-3"] == ["MatMulV2"]


@requires_shared
@pytest.mark.parametrize(
    "name",
    [
        "cuda_event_sync/event_sync_trace.json.gz",
        "simple_add/benchmark_result_493459_1694039959_trace.json.gz",
    ],
)
def test_allocations_and_set_up_are_no_fallback(name: str) -> None:
    assert "R-OP-3" not in codes(advice(*KINETO, *name.split("/")))


def test_serial_all_reduce_and_a_poor_convolution_get_the_guides_advice_first() -> None:
    said = advise(DrawnRun(serial_training()))

    named = list(dict.fromkeys(code for code in codes(said) if code != "R-COMM-0"))
    assert named[:2] == ["R-COMM-1", "R-OP-4"]
    overlap, tiling = found(said, "R-COMM-1"), found(said, "R-OP-4")
    # 300 us of all-reduce in 1 ms; three of four gradients are ready early: 195 us can lie under the backward pass.
    assert overlap.message.params["exposed_ratio"] == 0.3
    assert overlap.gain is not None
    assert overlap.gain.expected_ns == 195_000
    # 350 us at 45 %, where 70 % can be had.
    assert tiling.message.params["utilisation_ratio"] == 0.45
    assert tiling.gain is not None
    assert tiling.gain.expected_ns == 125_000
    english, chinese = (Language.load(code).render(tiling.advice) for code in ("en", "zh"))
    assert "tiling" in english
    assert "L1" in english
    assert "Tiling" in chinese
    assert said.plan is not None
    assert [step.code for step in said.plan.steps][:2] == ["R-COMM-1", "R-OP-4"]


def test_half_of_the_core_is_no_reason_for_tiling() -> None:
    assert "R-OP-4" not in codes(advise(DrawnRun(serial_training(0.55))))


def test_small_operators_separated_by_waits_get_the_guides_advice_first() -> None:
    said = advise(DrawnRun(small_operator_training()))

    first = said.findings[0]
    assert (first.code, first.title.message_id) == ("R-HOST-2", "rule.r-host-2.title-small")
    assert (first.message.params["wait_count"], first.message.params["small_ratio"]) == (20, 1)
    # Without the waits the host needs 42 us instead of 50 for each of the 20 operators.
    assert first.gain is not None
    assert first.gain.expected_ns == 160_000
    assert "data pipeline" in Language.load("en").render(first.advice)
    assert "数据 pipeline 是否引入了不必要的同步点" in Language.load("zh").render(first.advice)
    # Neither fusion nor a captured graph can cross those waits.
    held = {one.code: one.reason.message_id for one in said.suppressed}
    assert held["R-OP-1"] == held["R-HOST-1"] == "suppressed.waits-between"
