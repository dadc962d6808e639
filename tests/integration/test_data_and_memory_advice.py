"""Advice on data, copies, batch, memory and inference: what it says of the samples, and where it keeps silent."""

from __future__ import annotations

from functools import cache

import pytest

import ascend_sn
from ascend_sn.advisor.finding import Advice
from tests.shared_data import requires_shared, shared_path

CODES = (
    "R-DATA-1", "R-DATA-2", "R-DATA-3", "R-DATA-4", "R-COPY-1", "R-BS-1", "R-MEM-1", "R-MEM-2", "R-MEM-3", "R-MEM-4",
    "R-MEM-5", "R-INF-1", "R-INF-2", "R-INF-3",
)  # fmt: skip
KINETO = ("data", "kineto")


@cache
def said(*parts: str) -> Advice:
    with ascend_sn.open(shared_path(*parts)) as run:
        advice: Advice = ascend_sn.advise(run, codes=(*CODES, "R-HOST-1"))
    return advice


def found(advice: Advice) -> list[str]:
    return [finding.code for finding in advice.findings if finding.code in CODES]


@requires_shared
@pytest.mark.parametrize("export", ["text", "db"])
def test_level1_has_no_trouble_with_data_copies_or_memory(export: str) -> None:
    # Exposed copies of 0.9 and 1.3 ms in 156, 1.5 GiB of memory: nothing there is worth a word.
    assert found(said("data", "torch_npu", export, "level1")) == []


@requires_shared
def test_level1_waits_for_other_ranks_so_a_larger_batch_is_held_back() -> None:
    (held,) = (one for one in said("data", "torch_npu", "text", "level1").suppressed if one.code == "R-BS-1")

    assert held.reason.message_id == "suppressed.waits-dominate"


@requires_shared
def test_a_host_bound_training_is_told_so_before_it_is_told_to_take_a_larger_batch() -> None:
    advice = said(*KINETO, "nccl_parser_config")

    assert [finding.code for finding in advice.findings] == ["R-HOST-1", "R-BS-1"]
    assert advice.plan is not None
    assert advice.plan.steps[0].code == "R-HOST-1"
    batch = advice.findings[1]
    assert batch.advice.message_id == "rule.r-bs-1.advice"
    # Two samples share what one costs: never more than half.
    assert batch.gain is not None
    assert batch.gain.expected_ratio <= 0.5


@requires_shared
@pytest.mark.parametrize(
    "parts",
    [
        (*KINETO, "critical_path", "cuda_event_sync"),
        (*KINETO, "critical_path", "simple_add"),  # 8 s of set-up in the driver's allocator, and no step
        (*KINETO, "cpu_only"),
        ("cases", "dv15_slow_rank"),
        ("cases", "dv16_fallback_op"),
        ("cases", "dv20_compare_jitter"),
    ],
    ids=lambda parts: parts[-1],
)
def test_elsewhere_nothing_is_said(parts: tuple[str, ...]) -> None:
    assert found(said(*parts)) == []


@requires_shared
def test_memory_that_was_asked_for_and_did_not_come_is_not_judged() -> None:
    lacking = {one.code: one for one in said("cases", "dv02_memory_asked_but_absent").not_collected}

    assert {"R-MEM-1", "R-MEM-2", "R-MEM-3", "R-MEM-4"} <= set(lacking)
    assert lacking["R-MEM-1"].state == "missing"
