from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from ascend_sn.analysis.kernels.chips import Chip
from ascend_sn.analysis.kernels.mfu import combined_mfu, llm_flops_per_token, mfu
from ascend_sn.analysis.registry import Analysis, evaluate
from tests.unit.analysis.traces import Row, database, dicts, kernel, numbered, step

CHIP = Chip("test chip", ("TestChip",), ("made up",), {"float16": 320e12, "float32": 80e12}, 1.6e12)
SECOND = 1_000_000_000
ANALYSIS = Analysis("A13", "mfu", "", partial(mfu, table=[CHIP]), combine=combined_mfu)


def rank(profile_id: int, *rows: Row, device_name: str | None = "TestChip") -> list[Row]:
    marked = [step(0, 10 * SECOND), kernel(0, SECOND, step_id=0), *rows]
    profile: Row = ("profile", {"profile_id": profile_id, "rank": profile_id, "device_name": device_name})
    return [profile, *numbered([(table, {"profile_id": profile_id, **values}) for table, values in marked])]


def logged(flops: float) -> Row:
    return ("metric", {"name": "model_flops", "step": 1, "ts_ns": 5 * SECOND, "value": flops})


def found(*rows: list[Row]) -> list[dict[str, Any]]:
    return dicts(evaluate(ANALYSIS, database([row for part in rows for row in part])))


def test_two_ranks_that_need_3_2e15_in_10_s_of_320_tflops_each_use_half() -> None:
    first, second, job = found(rank(0, logged(1.6e15)), rank(1, logged(1.6e15)))

    assert job["profile_id"] is None
    assert (job["model_flops"], job["peak_flops_per_s"], job["window_ns"]) == (3.2e15, 640e12, 10 * SECOND)
    assert job["mfu_ratio"] == first["mfu_ratio"] == second["mfu_ratio"] == 0.5


def test_counted_operations_of_the_steps_give_the_hfu() -> None:
    shapes = {"input_shapes": "4096,4096;4096,4096", "input_dtypes": "FLOAT16;FLOAT16"}
    product = {**shapes, "output_shapes": "4096,4096", "output_dtypes": "FLOAT16"}
    one, job = found(
        rank(
            0,
            kernel(2 * SECOND, SECOND, "MatMulV2", step_id=0, **product),
            kernel(20 * SECOND, 1, "MatMulV2", **product),
        )
    )

    assert one["counted_flops"] == 2 * 4096**3  # the one outside the step is not counted
    assert one["hfu_ratio"] == pytest.approx(2 * 4096**3 / (10 * 320e12))
    assert (one["dtype"], one["counted_time_ratio"], one["mfu_ratio"]) == ("float16", 1.0, None)
    assert job["hfu_ratio"] == one["hfu_ratio"]


def test_an_unknown_chip_and_a_rank_that_logged_nothing_leave_the_ratio_open() -> None:
    known, unknown, job = found(rank(0, logged(1e15)), rank(1, logged(1e15), device_name="Ascend910B"))
    assert (known["mfu_ratio"], unknown["mfu_ratio"], job["mfu_ratio"], job["model_flops"]) == (
        0.3125,
        None,
        None,
        2e15,
    )

    *_, job = found(rank(0, logged(1e15)), rank(1))
    assert (job["mfu_ratio"], job["model_flops"]) == (None, None)


def test_a_token_costs_6_n_plus_12_l_h_q_s() -> None:
    assert llm_flops_per_token(7e9, 32, 32, 128, 4096) == 6 * 7e9 + 12 * 32 * 32 * 128 * 4096
    assert llm_flops_per_token(0, 1, 1, 1, 2, causal=True) == 12
