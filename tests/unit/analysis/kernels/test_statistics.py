"""A09: which kernels take the device's time, and which operators launched them."""

from __future__ import annotations

import pytest

from tests.timeline import empty_tables, insert, timeline, together
from tests.unit.analysis.rows import profile, results


def test_kernels_by_type_largest_first() -> None:
    db = timeline(
        """
        r0 s1 |AAAA.B.AA.C|
        r0 s2 |.A'AAA.RRRR|
        """,
        kinds={"R": "communication"},
    )

    first, *others = results("kernel_statistics", db)

    # A: 4, 2, 1 and 4 long; B and C: 1.
    assert {name: first[name] for name in ("op_type", "calls", "total_ns", "mean_ns", "min_ns", "max_ns")} == {
        "op_type": "A",
        "calls": 4,
        "total_ns": 11,
        "mean_ns": 3,
        "min_ns": 1,
        "max_ns": 4,
    }
    assert [(row["op_type"], row["calls"], row["total_ns"]) for row in others] == [("B", 1, 1), ("C", 1, 1)]
    assert [row["share_ratio"] for row in (first, *others)] == [11 / 13, 1 / 13, 1 / 13]
    assert [row["cumulative_ratio"] for row in (first, *others)] == [11 / 13, 12 / 13, 1.0]


def test_half_a_nanosecond_is_rounded_away_from_zero() -> None:
    db = timeline("r0 s1 |A.AA|")

    assert [(row["mean_ns"], row["p50_ns"]) for row in results("kernel_statistics", db)] == [(2, 2)]


def test_percentiles_lie_between_the_ranks() -> None:
    db = empty_tables()
    profile(db, 0)
    with together(db):
        for number in range(101):
            insert(
                db,
                "kernel",
                rank=0,
                kernel_id=number,
                name="A",
                op_type="A",
                kind="compute",
                ts_ns=0,
                dur_ns=number * 10,
            )

    (row,) = results("kernel_statistics", db)

    assert (row["p50_ns"], row["p95_ns"], row["max_ns"]) == (500, 950, 1_000)


def test_core_types_and_fused_kernels_stand_apart() -> None:
    db = timeline("r0 s1 |AA.BBB.FFFF|", kinds={"F": "fused"})
    db.execute("update kernel set op_type = 'MatMul', core_type = case name when 'A' then 'AI_CORE' else 'AI_CPU' end")

    found = [(row["kind"], row["core_type"], row["total_ns"]) for row in results("kernel_statistics", db)]

    assert found == [("fused", "AI_CPU", 4), ("compute", "AI_CPU", 3), ("compute", "AI_CORE", 2)]


@pytest.mark.parametrize("drawing", ["AA.FF", "FF.AA"])
def test_of_one_type_core_and_time_the_plain_kernel_comes_before_the_fused_one(drawing: str) -> None:
    db = timeline(f"r0 s1 |{drawing}|", kinds={"F": "fused"})
    db.execute("update kernel set op_type = 'MatMul', core_type = 'AI_CORE'")

    found = [(row["kind"], row["cumulative_ratio"]) for row in results("kernel_statistics", db)]

    assert found == [("compute", 0.5), ("fused", 1.0)]


def test_where_no_type_was_collected_the_name_stands_for_it() -> None:
    db = timeline("r0 s1 |AA.B|")
    db.execute("update kernel set op_type = null")

    assert [row["op_type"] for row in results("kernel_statistics", db)] == ["A", "B"]


def test_collectives_copies_and_waits_are_no_kernels_of_this_table() -> None:
    db = timeline("r0 s1 |R.H.W|", kinds={"R": "communication", "H": "copy", "W": "sync"})

    assert results("kernel_statistics", db) == []


def test_shares_are_those_of_the_own_profile() -> None:
    db = timeline("r0 s1 |AAA.B|\n r1 s1 |A...B|")

    found = [(row["rank"], row["op_type"], row["share_ratio"]) for row in results("kernel_statistics", db)]

    assert found == [(0, "A", 0.75), (0, "B", 0.25), (1, "A", 0.5), (1, "B", 0.5)]


def test_operators_with_the_device_time_they_launched_themselves() -> None:
    db = empty_tables()
    profile(db, 0)
    with together(db):
        for number, (name, self_ns) in enumerate(
            [("aten::linear", 4), ("aten::addmm", 10), ("aten::addmm", 6), ("aten::t", 3)]
        ):
            own = {"operator_id": number, "thread": "main", "name": name, "self_ns": self_ns, "input_bytes": 100}
            insert(db, "operator", rank=0, ts_ns=number * 100, dur_ns=50, **own)
    launches = [(1, "compute", 20), (1, "copy", 5), (2, "compute", 31), (0, "compute", 8), (1, "communication", 500)]
    with together(db):
        for number, (operator_id, kind, dur) in enumerate(launches):
            own = {"kernel_id": number, "operator_id": operator_id, "kind": kind}
            insert(db, "kernel", rank=0, ts_ns=number * 100, dur_ns=dur, **own)

    found = results("operator_statistics", db)

    columns = ("name", "calls", "device_ns", "host_ns", "mean_device_ns", "kernel_count", "input_bytes", "output_bytes")
    assert [tuple(row[column] for column in columns) for row in found] == [
        ("aten::addmm", 2, 56, 16, 28, 3, 200, None),
        ("aten::linear", 1, 8, 4, 8, 1, 100, None),
        ("aten::t", 1, 0, 3, 0, 0, 100, None),
    ]
    assert [row["share_ratio"] for row in found] == [56 / 64, 8 / 64, 0.0]


def test_without_any_link_the_device_time_is_unknown_and_not_zero() -> None:
    db = timeline("r0 host |ff|\n r0 s1 |AA|\n r1 host |ff|\n r1 s1 |AA|")
    db.execute("update kernel set operator_id = 0 where profile_id = 1")

    found = results("operator_statistics", db)

    assert [(row["rank"], row["device_ns"], row["kernel_count"], row["host_ns"]) for row in found] == [
        (0, None, None, 2),
        (1, 2, 1, 2),
    ]


@pytest.mark.parametrize(("kind", "host_ns"), [("cpu", 1), ("host", 1), ("npu", 5)])
def test_where_the_host_is_the_device_its_work_is_not_also_host_time(kind: str, host_ns: int) -> None:
    db = timeline("r0 host |fffff|\n r0 s1 |AAAA|")
    db.execute("update kernel set operator_id = 0")
    db.execute(f"update profile set device_kind = '{kind}'")

    (row,) = results("operator_statistics", db)

    assert (row["device_ns"], row["host_ns"]) == (4, host_ns)


def test_only_collected_kernels_are_asked_for() -> None:
    db = timeline("r0 host |ffbb|")

    assert [(row["name"], row["calls"], row["host_ns"]) for row in results("operator_statistics", db)] == [
        ("backward", 1, 2),
        ("forward", 1, 2),
    ]
