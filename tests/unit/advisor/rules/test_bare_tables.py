"""Rules about host and operators on rows that hold hardly anything."""

from __future__ import annotations

import pytest
from duckdb import DuckDBPyConnection

from ascend_sn.advisor import rules
from tests.timeline import empty_tables, insert, insert_all
from tests.unit.advisor.advised import advised

CODES = [code for code in rules.CODES if code.startswith(("R-HOST", "R-OP", "R-FREQ"))]


def bare(step_ns: int, *, kernels: int = 60, named: bool = False) -> DuckDBPyConnection:
    """A step of some length with kernels, calls and operators that have a time and, at most, a name."""
    db = empty_tables()
    insert(db, "profile", rank=None, format="drawing", device_kind="npu")
    insert(db, "step", step_id=0, ts_ns=0, dur_ns=step_ns, origin="mark")
    numbers = range(kernels)
    calls = ("launch", "gc", "aclopCompile", "aclrtSynchronizeDevice") if named else (None,)
    operator = {"thread": "t", "dur_ns": 1, "self_ns": 1, "depth": 0, "phase": "optimizer",
                "name": "aten::item" if named else None}  # fmt: skip
    insert_all(db, "operator", [{**operator, "operator_id": one, "ts_ns": one} for one in numbers])
    insert_all(db, "host_call", [
        {"host_call_id": one, "thread": "t", "name": calls[one % len(calls)], "ts_ns": one, "dur_ns": 1}
        for one in numbers
    ])  # fmt: skip
    insert_all(db, "kernel", [
        {"kernel_id": one, "kind": "compute", "ts_ns": one, "dur_ns": one % 3, "operator_id": one,
         "host_call_id": one, "step_id": 0}
        for one in numbers
    ])  # fmt: skip
    return db


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("step_ns", [0, 1])
@pytest.mark.parametrize("named", [False, True])
def test_a_rule_looks_without_harm(code: str, step_ns: int, named: bool) -> None:
    advice = advised(bare(step_ns, named=named), code)

    assert {finding.code for finding in advice.findings} | {held.code for held in advice.suppressed} <= {code}
    assert all(finding.gain is None or finding.gain.expected_ns <= max(step_ns, 1) for finding in advice.findings)


@pytest.mark.parametrize("code", CODES)
def test_no_rows_give_no_finding(code: str) -> None:
    assert advised(empty_tables(), code).findings == ()
