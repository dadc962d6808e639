from __future__ import annotations

from typing import Any

import pytest

from ascend_sn.analysis.memory.leak_sites import leak_sites
from tests.unit.analysis.traces import Row, numbered, operator, results, step

MB = 1_000_000


def events(count: int, *sites: tuple[str, int, int]) -> list[Row]:
    """Each step allocates once per site (name, MB, steps until it is freed; 0: never)."""
    rows: list[Row] = [step(100 * at, 100, at) for at in range(count)]
    for name, size, life in sites:
        for at in range(count):
            block: dict[str, Any] = {"size_bytes": size * MB, "address": f"{name}{at}", "operator_name": name}
            rows.append(("memory_event", {"ts_ns": 100 * at + 10, "kind": "alloc", **block}))
            if life and at + life < count:
                rows.append(("memory_event", {"ts_ns": 100 * (at + life) + 50, "kind": "free", **block}))
    return numbered(rows)


def test_of_two_allocations_per_step_the_one_that_stays_is_the_leak() -> None:
    rows = results(leak_sites, events(20, ("kept", 4, 0), ("freed", 4, 1)))

    kept = next(row for row in rows if row["operator_name"] == "kept")
    assert (kept["is_leak"], kept["count_per_step"], kept["bytes_per_step"]) == (True, 1.0, 4.0 * MB)
    assert (kept["steps"], kept["rising_ratio"]) == (
        15,
        1.0,
    )  # 20 less 3 of warm-up less 2 that cannot be seen to survive
    assert kept["surviving_count"] == 20
    assert all(not row["is_leak"] for row in rows if row["operator_name"] == "freed")


def test_what_is_replaced_after_five_steps_survives_but_does_not_become_more() -> None:
    (row,) = results(leak_sites, events(30, ("ring", 1, 5)))

    assert (row["is_leak"], row["rising_ratio"]) == (False, pytest.approx(0, abs=0.2))


def test_momentum_that_is_allocated_once_is_no_leak() -> None:
    rows: list[Row] = [step(100 * at, 100, at) for at in range(20)]
    block = {"size_bytes": MB, "operator_name": "momentum"}
    rows += [("memory_event", {"ts_ns": 10 + at, "kind": "alloc", "address": str(at), **block}) for at in range(50)]

    (row,) = results(leak_sites, numbered(rows))

    assert (row["is_leak"], row["surviving_count"], row["rising_ratio"], row["bytes_per_step"]) == (False, 50, 0.0, 0.0)


def test_a_stack_is_a_site_of_its_own_and_names_it() -> None:
    rows = events(20)
    for at in range(20):
        block = {"size_bytes": MB, "address": str(at), "operator_id": at, "ts_ns": 100 * at + 10}
        rows += [operator("aten::empty", 100 * at, 20, stack_id=7), ("memory_event", {"kind": "alloc", **block})]
    rows.append(("stack", {"stack_id": 7, "frames": "train.py(12): keep\ntrain.py(40): main"}))

    (row,) = results(leak_sites, numbered(rows))

    assert (row["site"], row["operator_name"], row["stack_id"]) == ("train.py(12): keep", "aten::empty", 7)
    assert row["is_leak"] is True


def test_a_few_steps_tell_nothing() -> None:
    assert results(leak_sites, events(9, ("kept", 4, 0))) == []
