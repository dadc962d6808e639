"""What holds for every analysis, whatever was captured."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, settings, strategies as st

from ascend_sn.analysis import ANALYSES
from ascend_sn.analysis.registry import evaluate
from ascend_sn.analysis.relations import selected
from tests.timeline import empty_tables
from tests.unit.analysis.rows import rows as as_rows
from tests.unit.analysis.traces import Row, captures, database, numbered

# All analyses on one example take a second; to shrink a failing one would take minutes.
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)

OPS = ("allreduce", "allgather", "send", "receive")


@st.composite
def runs(draw: st.DrawFn) -> list[list[Row]]:
    """Up to three profiles with something in every table that analyses read."""
    world = draw(st.integers(1, 3))
    groups = {name: draw(st.integers(1, world)) for name in ("g", "h")}
    return [_profile(draw, profile_id, world, groups) for profile_id in range(world)]


def _profile(draw: st.DrawFn, profile_id: int, world: int, groups: dict[str, int]) -> list[Row]:
    small, size = st.integers(0, 60), st.integers(1, 1_000)
    made: list[Row] = [row for row in draw(captures()) if row[0] != "profile"]
    kernel_count = sum(table == "kernel" for table, _ in made)
    host, stated = draw(st.sampled_from(["a", "b"])), draw(st.sampled_from([None, world, 4]))
    made.append(("profile", {"host": host, "world_size": stated, "device_kind": "npu"}))
    for name, member_count in groups.items():
        exact = draw(st.booleans())
        for member in range(member_count):
            member_of = {"group_id": name, "group_size": member_count, "size_is_exact": exact, "group_rank": member}
            made.append(("comm_group_member", {**member_of, "member_rank": member}))
    for number in range(draw(st.integers(0, 4))):
        start, length = draw(small), draw(st.integers(1, 30))
        call = {"op": draw(st.sampled_from(OPS)), "name": f"call_{number}", "group_id": draw(st.sampled_from("gh"))}
        recorded: dict[str, Any] = {}
        if draw(st.booleans()):
            transit = draw(st.integers(0, length))
            recorded = {"transit_ns": transit, "wait_ns": length - transit, "idle_ns": 0, "method": "recorded"}
        placed = {"ts_ns": start, "dur_ns": length, "sequence": number, "size_bytes": draw(size), **recorded}
        kernel = {"name": call["name"], "kind": "communication", "device_id": 0, "stream": "c"}
        made.append(
            ("kernel", {**kernel, "ts_ns": start, "dur_ns": length, "step_id": draw(st.sampled_from([None, 0]))})
        )
        made.append(("collective", {**call, **placed, "kernel_id": kernel_count}))
        kernel_count += 1
    for _ in range(draw(st.integers(0, 4))):
        pair = {"src_rank": draw(st.integers(0, 3)), "dst_rank": draw(st.integers(0, 3)), "group_id": "g"}
        moved = {"size_bytes": draw(size), "dur_ns": draw(size), "transport": draw(st.sampled_from(["HCCS", "RDMA"]))}
        made.append(("link", {**pair, **moved, "rank_scope": "global", "op": "allreduce"}))
    moments = draw(st.lists(small, unique=True, max_size=6))
    for number, moment in enumerate(sorted(moments)):
        event = {
            "ts_ns": moment,
            "size_bytes": draw(size),
            "device": "npu:0",
            "operator_name": draw(st.sampled_from("xy")),
        }
        made.append(
            ("memory_event", {**event, "kind": "free" if number % 3 == 2 else "alloc", "address": str(number // 3)})
        )
    if draw(st.booleans()):
        for moment in (1, 2):
            level = {"allocated_bytes": draw(size), "reserved_bytes": draw(size)}
            made.append(("memory_sample", {"ts_ns": moment, "component": "PTA", **level}))
            made.append(
                ("memory_block", {"device": "PTA", "size_bytes": 9, "requested_bytes": draw(st.integers(0, 9))})
            )
    for _ in range(draw(st.integers(0, 2))):
        made.append(
            ("metric", {"name": "data_time", "ts_ns": draw(small), "value": draw(st.sampled_from([1e-9, 5e-9]))})
        )
    for _ in range(draw(st.integers(0, 3))):
        nodes = {"first_node": draw(small), "last_node": None, "is_total": False, "operator_name": "x"}
        made.append(("static_memory", {**nodes, "graph_id": draw(st.sampled_from("12")), "size_bytes": draw(size)}))
    for severity in draw(st.lists(st.sampled_from(["info", "damage"]), max_size=2)):
        made.append(("damage", {"kind": "bad_row", "severity": severity, "count": 1}))
    return numbered([(table, {**values, "profile_id": profile_id}) for table, values in made])


@settings(max_examples=4, phases=UNSHRUNK)
@given(runs(), st.integers(0, 1_000))
def test_the_order_of_rows_does_not_matter(profiles: list[list[Row]], seed: int) -> None:
    together = [row for part in profiles for row in part]
    shuffled = list(together)
    Random(seed).shuffle(shuffled)

    in_order, out_of_order = database(together), database(shuffled)

    for analysis in ANALYSES:
        expected = as_rows(evaluate(analysis, in_order))
        assert as_rows(evaluate(analysis, out_of_order)) == expected, analysis.name


@settings(max_examples=4, phases=UNSHRUNK)
@given(runs())
def test_profiles_apart_and_then_merged_give_the_same(profiles: list[list[Row]]) -> None:
    whole = database([row for part in profiles for row in part])
    apart = [database(part) for part in profiles]

    for analysis in ANALYSES:
        merged = [row for db in apart for row in as_rows(analysis.per_profile(db))]
        assert as_rows(analysis.per_profile(whole)) == merged, analysis.name


@pytest.mark.parametrize("analysis", ANALYSES, ids=lambda analysis: analysis.name)
def test_no_rows_in_gives_no_rows_out(analysis: Any) -> None:
    assert evaluate(analysis, empty_tables()).fetchall() == []


@settings(max_examples=2, phases=UNSHRUNK)
@given(runs())
def test_a_result_outlives_the_analyses_that_come_after_it(profiles: list[list[Row]]) -> None:
    db = database([row for part in profiles for row in part])
    expected = {analysis.name: as_rows(evaluate(analysis, db)) for analysis in ANALYSES}

    held = {analysis.name: evaluate(analysis, db) for analysis in ANALYSES}

    assert {name: as_rows(relation) for name, relation in held.items()} == expected


@settings(max_examples=2, phases=UNSHRUNK)
@given(runs())
def test_what_is_kept_per_profile_is_all_that_combining_needs(profiles: list[list[Row]]) -> None:
    """Ranks are analysed apart, by other processes; only their small results meet."""
    whole = database([row for part in profiles for row in part])
    apart = [database(part) for part in profiles]

    for analysis in ANALYSES:
        if analysis.combine is None:
            continue
        expected = as_rows(evaluate(analysis, whole))
        first = analysis.per_profile(apart[0]).relation()
        kinds = ", ".join(f"{name} {kind}" for name, kind in zip(first.columns, first.types, strict=True))
        whole.execute(f"create or replace temp table met ({kinds})")
        for db in apart:
            for row in analysis.per_profile(db).fetchall():
                whole.execute(f"insert into met values ({', '.join('?' * len(row))})", list(row))
        assert as_rows(analysis.combine(whole, selected(whole, "select * from met"))) == expected, analysis.name


@settings(max_examples=15)
@given(captures())
def test_the_parts_of_a_window_sum_to_it(rows: list[Row]) -> None:
    for row in as_rows(evaluate(_named("step_breakdown"), database(rows))):
        parts = ("compute_ns", "exposed_comm_ns", "exposed_copy_ns", "free_ns")
        assert sum(row[part] for part in parts) == row["window_ns"]
        assert row["communication_ns"] == row["exposed_comm_ns"] + row["overlapped_ns"]
        assert row["fused_ns"] <= row["compute_ns"]
        assert all(row[part] >= 0 for part in (*parts, "overlapped_ns", "fused_ns"))
        if row["stage_ns"] is not None:
            inside = row["stage_compute_ns"] + row["stage_exposed_comm_ns"] + row["stage_free_ns"]
            assert row["stage_ns"] + row["bubble_ns"] == inside


@settings(max_examples=15)
@given(captures())
def test_the_phases_of_a_window_sum_to_it(rows: list[Row]) -> None:
    for row in as_rows(evaluate(_named("step_phases"), database(rows))):
        phases = ("data", "forward", "backward", "communication", "optimizer", "other")
        assert sum(row[f"{phase}_ns"] for phase in phases) == row["window_ns"]


@settings(max_examples=10)
@given(runs())
def test_the_parts_of_a_collective_sum_to_it(profiles: list[list[Row]]) -> None:
    for row in as_rows(evaluate(_named("collective_parts"), database([row for part in profiles for row in part]))):
        if row["method"] is not None:
            assert row["transit_ns"] + row["wait_ns"] + row["idle_ns"] == row["dur_ns"]
            assert min(row["transit_ns"], row["wait_ns"], row["idle_ns"]) >= 0


@settings(max_examples=15)
@given(captures())
def test_shares_sum_to_one_and_end_at_one(rows: list[Row]) -> None:
    found = as_rows(evaluate(_named("kernel_statistics"), database(rows)))

    if found:
        assert sum(row["share_ratio"] for row in found) == pytest.approx(1.0)
        assert found[-1]["cumulative_ratio"] == pytest.approx(1.0)


def _named(name: str) -> Any:
    return next(analysis for analysis in ANALYSES if analysis.name == name)
