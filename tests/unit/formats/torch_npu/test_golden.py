"""Figures of the sample runs, computed elsewhere straight from the raw files."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from functools import cache
from typing import Any

import pytest

from ascend_sn.derive import derive
from ascend_sn.formats.torch_npu.groups import group_hash
from ascend_sn.model.capture import Capture
from tests.shared_data import requires_shared, shared_path
from tests.unit.formats.torch_npu.runs import open_run

pytestmark = requires_shared

TEXT = ["text/level1/rank0_ascend_pt", "text/level1/rank1_ascend_pt", "text/level0/rank0_ascend_pt"]
DATABASE = ["db/level1/rank0_ascend_pt", "db/level1/rank1_ascend_pt"]
CLOSE = 1e-3


@cache
def capture(name: str) -> Capture:
    return open_run(shared_path("data", "torch_npu", *name.split("/")))


@cache
def golden() -> dict[str, Any]:
    return dict(json.loads(shared_path("data", "golden.json").read_text()))


def kernels(name: str, *kinds: str) -> list[dict[str, Any]]:
    return [row for row in capture(name).rows("kernel").to_dicts() if row["kind"] in kinds]


@pytest.mark.parametrize("name", TEXT)
def test_kernel_totals_by_core(name: str) -> None:
    totals: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])

    for row in kernels(name, "compute", "communication"):
        total = totals[row["core_type"]]
        total[0], total[1] = total[0] + 1, total[1] + row["dur_ns"] / 1000

    expected = {
        {"HCCL": "COMMUNICATION"}.get(core, core): value for core, value in golden()[name]["by_accelerator_us"].items()
    }
    found = {core: total for core, total in totals.items() if core is not None}
    assert {core: total[0] for core, total in found.items() if core in expected} == {
        core: value[0] for core, value in expected.items()
    }
    for core, (_, total_us) in expected.items():
        assert found[core][1] == pytest.approx(total_us, rel=CLOSE)
    assert sum(total[0] for total in totals.values()) == golden()[name]["kernels"]
    assert sum(total[1] for total in totals.values()) == pytest.approx(
        golden()[name]["kernel_duration_sum_us"], rel=CLOSE
    )


@pytest.mark.parametrize("name", [*TEXT[:2], *DATABASE])
def test_longest_operator_types(name: str) -> None:
    totals: Counter[str] = Counter()
    counts: Counter[str] = Counter()

    for row in kernels(name, "compute"):
        totals[row["op_type"]] += row["dur_ns"]
        counts[row["op_type"]] += 1

    expected = golden()[name]["top10_ops"]
    assert [op for op, _ in totals.most_common(10)] == [row[0] for row in expected]
    assert [counts[row[0]] for row in expected] == [row[-2] for row in expected]
    assert [totals[row[0]] / 1000 for row in expected] == pytest.approx([row[-1] for row in expected], rel=CLOSE)
    if "op_types" in golden()[name]:
        assert len(totals) == golden()[name]["op_types"]


@pytest.mark.parametrize("name", TEXT)
def test_short_and_compute_kernels(name: str) -> None:
    compute = kernels(name, "compute")

    assert len(compute) == golden()[name]["compute_kernels"] == 187
    assert sum(row["dur_ns"] < 10_000 for row in compute) == golden()[name]["kernels_under_10us"]


@pytest.mark.parametrize("name", TEXT[:2])
def test_recorded_parts_of_collectives_of_the_text_export(name: str) -> None:
    tables = capture(name)
    bytes_of: Counter[int] = Counter()
    time_of: Counter[int] = Counter()
    for row in tables.rows("link").to_dicts():
        if row["collective_id"] is not None:
            bytes_of[row["collective_id"]] += row["size_bytes"]
            time_of[row["collective_id"]] += row["dur_ns"]

    for row in tables.rows("collective").to_dicts():
        expected = golden()[name]["communication"][f"step50/collective/{row['name']}"]
        found = [row["dur_ns"], row["transit_ns"], row["wait_ns"], row["sync_ns"], row["idle_ns"]]
        names = ("elapse_ms", "transit_ms", "wait_ms", "sync_ms", "idle_ms")
        # The golden figures have four decimals.
        assert [ns / 1e6 for ns in found] == pytest.approx([expected[key] for key in names], rel=CLOSE, abs=6e-5)
        assert bytes_of[row["collective_id"]] / 1e6 == pytest.approx(expected["sdma_mb"], rel=CLOSE)
        assert time_of[row["collective_id"]] / 1e6 == pytest.approx(expected["sdma_ms"], rel=CLOSE)
        assert row["transit_ns"] + row["wait_ns"] + row["idle_ns"] == row["dur_ns"]
        assert row["op"] == "allreduce"
        assert row["method"] == "recorded"


@pytest.mark.parametrize("name", DATABASE)
def test_collectives_of_the_database(name: str) -> None:
    rows = capture(name).rows("collective").to_dicts()

    assert [[row["name"], row["dur_ns"] / 1e6] for row in rows] == golden()[name]["comm_ops_ms"]
    assert [row["sequence"] for row in rows] == [0, 1, 2, 3]
    assert {row["group_id"] for row in rows} == {"513616803227540210"}
    assert rows[0]["size_bytes"] == 4_097_000 * 4


@pytest.mark.parametrize("name", [*TEXT, *DATABASE])
def test_step_trace_of_the_exporter_is_kept(name: str) -> None:
    metrics = {row["name"]: row for row in capture(name).rows("metric").to_dicts()}
    expected = golden()[name]["step_trace_us"]
    expected = expected[0] if isinstance(expected, list) else expected
    by_word = {key.lower().replace(" ", "_").replace("(", "_").replace(")", ""): key for key in expected}

    assert {row["step"] for row in metrics.values()} == {50}
    assert len(metrics) == 9
    for metric, row in metrics.items():
        column = (
            metric.removeprefix("exporter.step_trace.").lower().replace(" ", "_").replace("(", "_").replace(")", "")
        )
        assert row["value"] / 1000 == pytest.approx(expected[by_word[column]], rel=1e-9, abs=1e-3)


@pytest.mark.parametrize("name", TEXT)
def test_memory_peaks(name: str) -> None:
    peaks: dict[str, dict[str, int]] = defaultdict(dict)
    for row in capture(name).rows("memory_sample").to_dicts():
        for kind in ("allocated", "reserved", "active"):
            if row[f"{kind}_bytes"] is not None:
                peak = peaks[row["component"]]
                peak[kind] = max(peak.get(kind, 0), row[f"{kind}_bytes"])

    for component, expected in golden()[name]["mem_peak_mb"].items():
        for kind in ("allocated", "reserved", "active"):
            value = expected[f"Total {kind.capitalize()}"]
            found = peaks[component].get(kind)
            assert (found is None) == (value is None)
            assert value is None or (found is not None and found / 2**20 == pytest.approx(value, rel=CLOSE))
    for module, value in golden()[name]["module_mem_peak_mb"].items():
        assert peaks[f"module:{module}"]["reserved"] / 2**20 == pytest.approx(value, rel=CLOSE)


@pytest.mark.parametrize("name", DATABASE)
def test_memory_peaks_of_the_database(name: str) -> None:
    rows = capture(name).rows("memory_sample").to_dicts()

    for component, (allocated, reserved) in golden()[name]["mem_peak_bytes"].items():
        of_component = [row for row in rows if row["component"] == component]
        assert max(row["allocated_bytes"] for row in of_component) == allocated
        assert max(row["reserved_bytes"] for row in of_component) == reserved


@pytest.mark.parametrize("name", TEXT)
def test_allocations_of_operators(name: str) -> None:
    rows = capture(name).rows("memory_event").to_dicts()
    allocations = [row for row in rows if row["kind"] == "alloc"]
    released = {row["address"] for row in rows if row["kind"] == "free"}

    assert len(allocations) == golden()[name]["opmem_rows"]
    assert sum(row["address"] not in released for row in allocations) == golden()[name]["opmem_unreleased"]
    sizes = Counter((row["operator_name"], row["size_bytes"] / 1024) for row in allocations)
    top3 = [tuple(entry) for entry in golden()[name]["opmem_top3_kb"]]
    # Several are equally large: the sizes are compared, and that the named ones are among them.
    assert sorted((row["size_bytes"] / 1024 for row in allocations), reverse=True)[:3] == [size for _, size in top3]
    assert all(sizes[entry] for entry in top3)


@pytest.mark.parametrize("name", TEXT[:2])
def test_host_calls_match_the_exporters_statistic(name: str) -> None:
    found: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0.0])
    for row in capture(name).rows("host_call").to_dicts():
        entry = found[row["level"], row["name"]]
        entry[0], entry[1] = entry[0] + 1, entry[1] + row["dur_ns"] / 1000

    for level, api, count, total_us in golden()[name]["top8_api"]:
        entry = found["communication" if level == "hccl" else level, api]
        assert entry[0] == count
        assert entry[1] == pytest.approx(total_us, rel=CLOSE)


@pytest.mark.parametrize("name", DATABASE)
def test_the_database_has_552_tasks_in_the_four_known_classes(name: str) -> None:
    tables = capture(name)
    kinds = Counter(row["kind"] for row in tables.rows("kernel").to_dicts())
    parts = [entry.count for entry in tables.ledger.entries if entry.kind == "task_part"]

    assert kinds["compute"] == 187
    assert kinds["communication"] == len(tables.rows("collective")) == 4
    assert len(tables.rows("comm_task")) == 296
    tasks = sum(kinds.values()) - kinds["communication"] + len(tables.rows("comm_task")) + sum(parts)
    assert tasks == golden()[name]["tasks"] == 552


@pytest.mark.parametrize("name", DATABASE)
def test_operators_of_the_database_reach_500_of_552_tasks(name: str) -> None:
    tables = capture(name)
    rows = tables.rows("kernel").to_dicts()
    linked = {row["kernel_id"] for row in rows if row["operator_id"] is not None}
    owner = {row["collective_id"]: row["kernel_id"] for row in tables.rows("collective").to_dicts()}
    plane_tasks = sum(owner[row["collective_id"]] in linked for row in tables.rows("comm_task").to_dicts())
    parts = sum(entry.count for entry in tables.ledger.entries if entry.kind == "task_part")

    assert sum(row["kind"] == "compute" for row in rows if row["kernel_id"] in linked) == 187
    assert (
        sum(row["kernel_id"] in linked and row["kind"] != "communication" for row in rows) + plane_tasks + parts == 500
    )


@pytest.mark.parametrize("name", DATABASE)
def test_all_tasks_but_the_two_profiling_ones_know_their_host_call(name: str) -> None:
    rows = capture(name).rows("kernel").to_dicts()

    assert sorted(row["name"] for row in rows if row["host_call_id"] is None) == [
        "PROFILING_DISABLE",
        "PROFILING_ENABLE",
    ]


@pytest.mark.parametrize("name", [*TEXT, *DATABASE])
def test_the_step_is_the_window_of_the_mark(name: str) -> None:
    (step,) = capture(name).rows("step").to_dicts()

    assert step["step"] == 50
    assert step["origin"] == "mark"
    if "step_time_us" in golden()[name]:
        assert [[50, step["dur_ns"] / 1000]] == golden()[name]["step_time_us"]


@pytest.mark.parametrize("name", TEXT)
def test_overlap_of_the_text_export(name: str) -> None:
    """Compute is the union of compute kernels: the exporter's own figure."""
    from ascend_sn._native.intervals import union_length

    expected = golden()[name]["step_trace_us"]
    compute = kernels(name, "compute")
    whole = kernels(name, "communication")

    def length(rows: list[dict[str, Any]]) -> float:
        starts = [row["ts_ns"] for row in rows]
        return union_length(starts, [row["ts_ns"] + row["dur_ns"] for row in rows]) / 1000

    assert length(compute) == pytest.approx(expected["Computing"], rel=CLOSE)
    assert length(whole) == pytest.approx(expected["Communication"], rel=CLOSE)


@pytest.mark.parametrize("name", DATABASE)
def test_overlap_of_the_database(name: str) -> None:
    from ascend_sn._native.intervals import union_length

    (expected,) = golden()[name]["step_trace_us"]
    for kind, column in (("compute", "computing"), ("communication", "communication")):
        rows = kernels(name, kind)
        starts = [row["ts_ns"] for row in rows]
        found = union_length(starts, [row["ts_ns"] + row["dur_ns"] for row in rows])
        assert found / 1000 == pytest.approx(expected[column], abs=1e-6)


def test_the_databases_group_id_gives_the_hash_of_the_analysis() -> None:
    assert group_hash("198.51.100.113%eth0_60000_0_1736410538306028") == "513616803227540210"


@pytest.mark.parametrize("name", [*TEXT[:2], *DATABASE])
def test_a_group_without_metadata_has_at_least_the_places_seen(name: str) -> None:
    rows = capture(name).rows("comm_group_member").to_dicts()
    rank = capture(name).header.rank

    assert [row["group_rank"] for row in rows] == list(range(8))
    assert {row["group_size"] for row in rows} == {8}
    assert not any(row["size_is_exact"] for row in rows)
    assert [row["member_rank"] for row in rows if row["member_rank"] is not None] == [rank]


@pytest.mark.parametrize("name", [*TEXT[:2], *DATABASE])
def test_links_of_the_matrix_are_its_total_rows(name: str) -> None:
    rows = [row for row in capture(name).rows("link").to_dicts() if row["src_rank"] is not None]
    rank = capture(name).header.rank

    assert len(rows) == 8
    assert {row["src_rank"] for row in rows} == {rank}
    assert {row["rank_scope"] for row in rows} == {"group"}
    assert sorted(row["transport"] for row in rows) == ["HCCS"] * 7 + ["LOCAL"]


@pytest.mark.parametrize("name", TEXT[:2])
def test_text_events_reach_operators_through_launches(name: str) -> None:
    """537 of 539 device events: all but the two profiling tasks have a launch on the host."""
    tables = capture(name)
    rows = tables.rows("kernel").to_dicts()
    without = [row["name"] for row in rows if row["host_call_id"] is None]

    assert sorted(without) == ["PROFILING_DISABLE", "PROFILING_ENABLE"]
    assert len(rows) + len(tables.rows("comm_task")) == 539
    assert sum(row["operator_id"] is not None for row in rows) == 210


def linked_events(tables: Capture) -> int:
    """Device events that reach an operator, plane tasks through their collective."""
    rows = tables.rows("kernel").to_dicts()
    linked = {row["kernel_id"] for row in rows if row["operator_id"] is not None}
    owner = {row["collective_id"]: row["kernel_id"] for row in tables.rows("collective").to_dicts()}
    return len(linked) + sum(owner[row["collective_id"]] in linked for row in tables.rows("comm_task").to_dicts())


@pytest.mark.parametrize("name", TEXT[:2])
def test_the_chain_reaches_an_operator_for_537_of_539_events(name: str) -> None:
    whole = open_run(shared_path("data", "torch_npu", *name.split("/")))
    given = whole.rows("kernel").to_dicts()
    chain_only = open_run(shared_path("data", "torch_npu", *name.split("/")))
    chain_only.tables["kernel"] = chain_only.rows("kernel").replace(operator_id=None)

    derive(whole)
    derive(chain_only)

    assert linked_events(whole) == linked_events(chain_only) == 537
    # Where the trace itself names the operator, the chain finds the same.
    found = chain_only.rows("kernel").to_dicts()
    pairs = [
        (a["operator_id"], b["operator_id"]) for a, b in zip(given, found, strict=True) if a["operator_id"] is not None
    ]
    assert len(pairs) == 210
    assert all(a == b for a, b in pairs)


@pytest.mark.parametrize("name", DATABASE)
def test_the_chain_links_what_the_database_itself_does_not(name: str) -> None:
    tables = open_run(shared_path("data", "torch_npu", *name.split("/")))
    given = tables.rows("kernel").to_dicts()

    derive(tables)

    found = tables.rows("kernel").to_dicts()
    assert sorted(row["name"] for row in found if row["operator_id"] is None) == [
        "PROFILING_DISABLE",
        "PROFILING_ENABLE",
    ]
    assert all(a["operator_id"] in (None, b["operator_id"]) for a, b in zip(given, found, strict=True))


@pytest.mark.parametrize("name", TEXT[2:])
def test_level0_has_no_types_and_says_how_to_get_them(name: str) -> None:
    tables = capture(name)
    compute = kernels(name, "compute")

    assert {row["op_type"] for row in compute} == {None}
    (entry,) = (e for e in tables.coverage if (e.table_name, e.column_name) == ("kernel", "op_type"))
    assert entry.state == "missing"
    assert "profiler_level=Level1" in entry.turn_on
    assert sum(row["operator_id"] is not None for row in tables.rows("kernel").to_dicts()) == 210
    assert [row["transit_ns"] for row in tables.rows("collective").to_dicts()] == [None] * 4
    assert not tables.ledger.entries


@pytest.mark.parametrize("name", TEXT)
def test_what_was_on_already_is_not_to_be_turned_on(name: str) -> None:
    """`with_modules` is true in the configuration of each of them, and none holds a module."""
    (entry,) = (one for one in capture(name).coverage if (one.table_name, one.column_name) == ("operator", "module"))

    assert (entry.state, entry.reason, entry.turn_on) == ("missing", "requested, but not recorded", "")


@pytest.mark.parametrize("name", [*TEXT, *DATABASE])
def test_ids_are_dense_in_order(name: str) -> None:
    tables = capture(name)

    for table, column in (
        ("operator", "operator_id"),
        ("host_call", "host_call_id"),
        ("kernel", "kernel_id"),
        ("collective", "collective_id"),
        ("span", "span_id"),
        ("stack", "stack_id"),
        ("step", "step_id"),
    ):
        rows = tables.rows(table)
        assert rows.values(column).tolist() == list(range(len(rows)))


def test_text_and_database_of_the_same_model_have_the_same_shape() -> None:
    """Two runs of one program: counts agree, times do not."""
    text, database = capture(TEXT[0]), capture(DATABASE[0])

    for table in ("operator", "kernel", "collective", "comm_task", "step", "span", "flow", "memory_event", "stack"):
        assert len(text.rows(table)) == len(database.rows(table)), table
    for kind in ("compute", "communication", "copy", "sync", "other"):
        assert len(kernels(TEXT[0], kind)) == len(kernels(DATABASE[0], kind)), kind
    metrics = {row["metric"] for row in text.rows("kernel_metric").to_dicts()} - {"cube_utilization"}
    assert metrics <= {row["metric"] for row in database.rows("kernel_metric").to_dicts()}
    directions = [Counter(row["copy_direction"] for row in kernels(name, "copy")) for name in (TEXT[0], DATABASE[0])]
    assert directions[0] == directions[1]
    counters = [{(row["name"], row["unit"]) for row in run.rows("counter").to_dicts()} for run in (database, text)]
    assert counters[0] <= counters[1]
