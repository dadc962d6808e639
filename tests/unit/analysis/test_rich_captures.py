"""The laws of `test_laws` on captures that hold something in every table: ranges, samples, stacks, arrows."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from ascend_sn.analysis import ANALYSES
from ascend_sn.analysis.registry import evaluate
from tests.unit.analysis.traces import Row, call, collective, database, dicts, kernel, numbered, operator, step

STEPS = 36
SHAPES: dict[str, Any] = {"input_dtypes": "FLOAT", "output_dtypes": "FLOAT"}


def ranged(name: str, ts_ns: int, dur_ns: int, domain: str) -> Row:
    return ("span", {"name": name, "domain": domain, "thread": "main", "ts_ns": ts_ns, "dur_ns": dur_ns})


def block(ts_ns: int, kind: str, size_bytes: int, address: int, **more: Any) -> Row:
    own = {"ts_ns": ts_ns, "kind": kind, "size_bytes": size_bytes, "address": str(address), "device": "npu:0"}
    return ("memory_event", {**own, **more})


def rich(profile_id: int) -> list[Row]:
    """Steps of 1,000 ns: load, forward with a module, collective, wait, a block that stays; slower from step 18 on."""
    slow = profile_id + 1
    rows: list[Row] = [
        ("profile", {"device_kind": "npu", "device_name": "Ascend910B3", "world_size": 2}),
        ("stack", {"stack_id": 1, "frames": "train.py(7): log\ntrain.py(1): main"}),
        ("metric", {"name": "model_flops", "step": 3, "ts_ns": 3500, "value": 1e6}),
        ("metric", {"name": "profiler.span_cost_ns", "ts_ns": 0, "value": 2.0}),
        ("metric", {"name": "profiler.flush_ns", "ts_ns": 0, "value": 30.0}),
        ("metric", {"name": "memory_capacity_bytes", "ts_ns": 0, "value": 1e6}),
        ("counter", {"name": "AI Core Freq", "unit": "MHz", "ts_ns": 0, "value": 1800.0}),
        ("counter", {"name": "AI Core Freq", "unit": "MHz", "ts_ns": 9_000, "value": 1500.0}),
        (
            "comm_group_member",
            {"group_id": "p", "kind": "pp", "group_rank": 0, "group_size": 2, "member_rank": profile_id},
        ),
    ]
    for at in range(STEPS):
        begin = 1000 * at
        work = 300 * slow + (100 if at >= STEPS // 2 else 0)
        first_call, first_operator = 3 * at, 4 * at
        rows += [
            step(begin, 990 if at < STEPS // 2 else 880, at),
            operator("load", begin, 50, phase="data"),
            operator("aten::silu", begin + 60, 20, phase="forward", stack_id=1),
            operator("aten::mul", begin + 90, 20, phase="forward"),
            operator("aten::item", begin + 900, 80, phase="other", stack_id=1),
            ranged("nn.Module: Net_0", begin + 55, 100, "python"),
            ranged(f"batch_size={1 + at % 2}", begin, 900, "user"),
            call("launch", begin + 70, 5),
            call("aclrtSynchronizeStream", begin + 905, 60),
            call("aclrtMalloc", begin + 95, 5),
            kernel(begin + 100, work, "Silu", host_call_id=first_call, operator_id=first_operator + 1, step_id=at,
                   core_type="AI_CPU", input_shapes="8,8", output_shapes="8,8", **SHAPES),
            kernel(begin + 100 + work, 20, "TransData", operator_id=first_operator + 2, step_id=at, input_shapes="8,8",
                   output_shapes="1,8,8", input_formats="ND", output_formats="NZ", **SHAPES),
            kernel(begin + 130 + work, 20, "TransData", step_id=at, input_shapes="1,8,8", output_shapes="8,8",
                   input_formats="NZ", output_formats="ND", **SHAPES),
            kernel(begin + 160 + work, 40, "R", "communication", stream="2", step_id=at),
            collective(begin + 160 + work, 40, kernel_id=4 * at + 3, sequence=at, size_bytes=64 << at % 4,
                       transit_ns=20 + at % 4, wait_ns=10, sync_ns=10, idle_ns=10 - at % 4, method="recorded"),
            ("link", {"collective_id": at, "group_id": "g", "transport": "HCCS", "size_bytes": 64, "dur_ns": 20,
                      "src_rank": 0, "dst_rank": 1}),
            block(begin + 65, "alloc", 64, 2 * at, operator_id=first_operator + 1, stack_id=1),
            block(begin + 66, "alloc", 32, 2 * at + 1, operator_id=first_operator + 2),
            block(begin + 70, "free", 32, 2 * at + 1),
            ("flow", {"src_table": "operator", "src_id": first_operator + 1, "dst_table": "operator",
                      "dst_id": first_operator + 2, "kind": "fwdbwd"}),
            ("kernel_metric", {"kernel_id": 4 * at, "metric": "aiv_vec_ratio", "value": 0.25}),
            ("kernel_metric", {"kernel_id": 4 * at, "metric": "aiv_mte2_ratio", "value": 0.5}),
        ]  # fmt: skip
    return numbered([(table, {"profile_id": profile_id, **values}) for table, values in rows])


@pytest.fixture(scope="module")
def expected() -> dict[str, list[dict[str, Any]]]:
    db = database([*rich(0), *rich(1)])
    return {analysis.name: dicts(evaluate(analysis, db)) for analysis in ANALYSES}


def test_the_capture_is_rich_enough_for_most_analyses(expected: dict[str, list[dict[str, Any]]]) -> None:
    silent = {name for name, rows in expected.items() if not rows}

    assert not silent & {
        "affinity_matches", "allocator_cost", "alpha_beta", "communication_overlap", "core_types", "format_waste",
        "free_time_causes", "frequency", "host_bound", "host_pauses", "launch_queue", "launch_statistics", "leak_sites",
        "memory_leak", "mfu", "module_tree", "profiler_overhead", "roofline", "step_changes", "step_jitter",
        "stragglers", "temporary_churn", "throughput_sweep", "utilisation_map",
    }  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_rows_does_not_matter(expected: dict[str, list[dict[str, Any]]], seed: int) -> None:
    rows = [*rich(0), *rich(1)]
    Random(seed).shuffle(rows)
    db = database(rows)

    for analysis in ANALYSES:
        assert dicts(evaluate(analysis, db)) == expected[analysis.name], analysis.name


def test_profiles_apart_and_together_give_the_same() -> None:
    together, apart = database([*rich(0), *rich(1)]), [database(rich(0)), database(rich(1))]

    for analysis in ANALYSES:
        merged = [row for db in apart for row in dicts(analysis.per_profile(db))]
        assert dicts(analysis.per_profile(together)) == merged, analysis.name


def test_what_the_rich_capture_shows(expected: dict[str, list[dict[str, Any]]]) -> None:
    (leak, _) = expected["memory_leak"]
    assert (leak["verdict"], leak["slope_bytes_per_step"], leak["phase"]) == ("leak", 64.0, "forward")
    (site, _) = expected["leak_sites"]
    assert (site["is_leak"], site["site"], site["bytes_per_step"]) == (True, "train.py(7): log", 64.0)
    assert {row["inverse_pairs"] for row in expected["format_waste"]} == {STEPS}
    assert {(row["api"], row["matches"]) for row in expected["affinity_matches"]} == {("torch_npu.npu_swiglu", STEPS)}
    assert {row["site"] for row in expected["host_pauses"] if row["kind"] == "sync"} == {"train.py(7): log"}
    assert {row["place"] for row in expected["step_changes"]} == {STEPS // 2}
    slow = next(row for row in expected["stragglers"] if row["rank"] == 1)
    assert (slow["peers"], slow["score_ratio"]) == (2, pytest.approx(1.0, abs=0.5))
