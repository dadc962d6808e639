"""Every figure of the sample data, computed from the raw files by somebody else, to a thousandth.

Text and database exports pass through the same functions below: nothing after the readers knows which it was.
"""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import ascend_sn
from ascend_sn import Run, analysis
from tests.shared_data import requires_shared, shared_path, shared_root

pytestmark = requires_shared

DATA = shared_path("data", "torch_npu")
TEXT, DATABASE = "text/level1/rank0_ascend_pt", "db/level1/rank0_ascend_pt"
MIB = 1 << 20
KIB = 1 << 10
LEVEL1_ON = "torch_npu.profiler._ExperimentalConfig(profiler_level=Level1)"


def _golden() -> dict[str, dict[str, Any]]:
    if shared_root() is None:
        return {}
    golden: dict[str, dict[str, Any]] = json.loads(shared_path("data", "golden.json").read_text(encoding="utf-8"))
    return golden


GOLDEN = _golden()


@cache
def opened(folder: str) -> Run:
    return ascend_sn.open(DATA / folder)


def close(measured: Any, expected: Any, where: str, half_unit: float = 0.0) -> Iterator[str]:
    """Say where two nested figures differ by more than 0.1 % (and half of the last decimal they were written with)."""
    if isinstance(expected, dict):
        if set(measured) != set(expected):
            yield f"{where}: {sorted(measured)} is not {sorted(expected)}"
            return
        for name, value in expected.items():
            yield from close(measured[name], value, f"{where}/{name}", 5e-5 if name.endswith("_ms") else half_unit)
    elif isinstance(expected, list):
        if len(measured) != len(expected):
            yield f"{where}: {len(measured)} items, not {len(expected)}"
        for at, (ours, theirs) in enumerate(zip(measured, expected, strict=False)):
            yield from close(ours, theirs, f"{where}[{at}]", half_unit)
    elif isinstance(expected, float):
        if measured is None or abs(measured - expected) > 1e-3 * abs(expected) + half_unit:
            yield f"{where}: {measured}, not {expected}"
    elif measured != expected:
        yield f"{where}: {measured!r}, not {expected!r}"


def rows(run: Run, query: str) -> list[list[Any]]:
    return [list(row) for row in run.sql(query).fetchall()]


def number(run: Run, query: str) -> Any:
    ((found,),) = run.sql(query).fetchall()
    return found


# The exporter's name of each figure of a step -> ours (`step_breakdown`).
STEP_TRACE = {
    "Computing": "stage_compute_ns",
    "Communication(Not Overlapped)": "stage_exposed_comm_ns",
    "Overlapped": "stage_overlapped_ns",
    "Communication": "stage_communication_ns",
    "Free": "stage_free_ns",
    "Stage": "stage_ns",
    "Bubble": "bubble_ns",
    "Communication(Not Overlapped and Exclude Receive)": "stage_exposed_comm_ns",
    "Preparing": "preparing_ns",
}


def step_trace(run: Run, expected: Any) -> Any:
    breakdown = analysis.step_breakdown(run)
    found = [dict(zip(breakdown.columns, row, strict=True)) for row in breakdown.fetchall()]
    if isinstance(expected, dict):
        (step,) = found
        return {"Step": float(step["step"]), **{name: step[ours] / 1e3 for name, ours in STEP_TRACE.items()}}
    database = {_snake(name): ours for name, ours in STEP_TRACE.items()}
    return [
        {"step": str(step["step"]), **{name: _whole(step[ours] / 1e3) for name, ours in database.items()}}
        for step in found
    ]


def _snake(name: str) -> str:
    return name.lower().replace("(", " ").replace(")", "").replace(" ", "_")


def _whole(value: float) -> float | int:
    return int(value) if value == int(value) else value


DEVICE_WORK = "from kernel where kind in ('compute', 'fused', 'communication')"
COMPUTE_WORK = "from kernel where kind in ('compute', 'fused')"


def by_accelerator(run: Run, expected: Any) -> Any:
    found = rows(run, f"select core_type, count(*), sum(dur_ns) / 1e3 {DEVICE_WORK} group by 1")
    # The samples call the core of a collective HCCL, newer exporters COMMUNICATION; a core that is N/A is no core.
    return {{"COMMUNICATION": "HCCL"}.get(core, core): figures for core, *figures in found if core is not None}


def top_operators(run: Run, expected: Any) -> Any:
    shown = "op_type, core_type, calls, total_ns / 1e3" if len(expected[0]) == 4 else "op_type, calls, total_ns / 1e3"
    return [list(row) for row in analysis.kernel_statistics(run).project(shown).limit(10).fetchall()]


def communication(run: Run, expected: Any) -> Any:
    parts = analysis.collective_parts(run).project(
        "collective_id, 'step' || step || '/collective/' || name, dur_ns, transit_ns, wait_ns, sync_ns, idle_ns"
    )
    moved = {
        number: (size, dur)
        for number, size, dur in rows(
            run,
            """select collective_id, sum(size_bytes), sum(dur_ns)
               from link
               where collective_id is not null and transport <> 'LOCAL'
               group by 1""",
        )
    }
    names = ("elapse_ms", "transit_ms", "wait_ms", "sync_ms", "idle_ms")
    calls = {
        name: {
            **{figure: value / 1e6 for figure, value in zip(names, times, strict=True)},
            "sdma_mb": moved[collective_id][0] / 1e6,
            "sdma_ms": moved[collective_id][1] / 1e6,
        }
        for collective_id, name, *times in parts.fetchall()
    }
    total = {figure: sum(call[figure] for call in calls.values()) for figure in (*names, "sdma_mb", "sdma_ms")}
    ((elapsed, transit, wait, idle),) = (
        analysis.communication_summary(run)
        .project("total_ns / 1e6, transit_ns / 1e6, wait_ns / 1e6, idle_ns / 1e6")
        .fetchall()
    )
    summed = {**total, "elapse_ms": elapsed, "transit_ms": transit, "wait_ms": wait, "idle_ms": idle}
    return {**calls, "step50/collective/Total Op Info": summed}


def memory_peaks(run: Run, expected: Any) -> Any:
    peaks = analysis.memory_peak(run).project("component, peak_allocated_bytes, peak_reserved_bytes, peak_active_bytes")
    return {
        component: {
            f"Total {name}": None if size is None else size / MIB
            for name, size in zip(("Allocated", "Reserved", "Active"), sizes, strict=True)
        }
        for component, *sizes in peaks.fetchall()
        if not component.startswith("module:")
    }


def memory_peaks_in_bytes(run: Run, expected: Any) -> Any:
    peaks = analysis.memory_peak(run).project("component, peak_allocated_bytes, peak_reserved_bytes").fetchall()
    return {component: sizes for component, *sizes in peaks if component in expected}


def module_peaks(run: Run, expected: Any) -> Any:
    peaks = analysis.memory_peak(run).project("component, peak_reserved_bytes").fetchall()
    modules = {component.removeprefix("module:"): size for component, size in peaks if component.startswith("module:")}
    return {name: modules[name] / MIB for name in expected}


def largest_allocations(run: Run, expected: Any) -> Any:
    """Blocks of one size have no order; among them the expected name is taken first."""
    found = rows(
        run,
        f"select operator_name, size_bytes / {KIB} from memory_event where kind = 'alloc' order by size_bytes desc",
    )
    chosen = []
    for name, _ in expected:
        same_size = [at for at, (_, size) in enumerate(found) if size == found[0][1]]
        chosen.append(found.pop(next((at for at in same_size if found[at][0] == name), 0)))
    return chosen


def host_calls(run: Run, expected: Any) -> Any:
    found = rows(
        run,
        """select level, name, count(*), sum(dur_ns) / 1e3
           from host_call
           where level in ('acl', 'node', 'communication')
           group by level, name
           order by sum(dur_ns) desc
           limit 8""",
    )
    return [[{"communication": "hccl"}.get(level, level), *others] for level, *others in found]


FIGURES: dict[str, Callable[[Run, Any], Any]] = {
    "step_trace_us": step_trace,
    "kernels": lambda run, _: number(run, f"select count(*) {DEVICE_WORK}"),
    "kernel_duration_sum_us": lambda run, _: number(run, f"select sum(dur_ns) / 1e3 {DEVICE_WORK}"),
    "op_state": lambda run, _: dict(
        run.sql(f"select coalesce(op_state, 'N/A'), count(*) {DEVICE_WORK} group by 1").fetchall()
    ),
    "kernels_under_10us": lambda run, _: number(run, f"select count(*) {DEVICE_WORK} and dur_ns < 10000"),
    "compute_kernels": lambda run, _: number(run, f"select count(*) {COMPUTE_WORK}"),
    "by_accelerator_us": by_accelerator,
    "op_statistic_total_us": lambda run, _: number(run, f"select sum(dur_ns) / 1e3 {COMPUTE_WORK}"),
    "op_statistic_count": lambda run, _: sum(n for (n,) in analysis.kernel_statistics(run).project("calls").fetchall()),
    "op_types": lambda run, _: number(run, f"select count(distinct op_type) {COMPUTE_WORK}"),
    "top10_ops": top_operators,
    "communication": communication,
    "mem_peak_mb": memory_peaks,
    "mem_peak_bytes": memory_peaks_in_bytes,
    "module_mem_peak_mb": module_peaks,
    "opmem_rows": lambda run, _: number(run, "select count(*) from memory_event where kind = 'alloc'"),
    "opmem_unreleased": lambda run, _: number(
        run, "select count(*) filter (where kind = 'alloc') - count(*) filter (where kind = 'free') from memory_event"
    ),
    "opmem_top3_kb": largest_allocations,
    "top8_api": host_calls,
    "step_time_us": lambda run, _: rows(run, "select step, dur_ns / 1e3 from step order by step_id"),
    # Every task has a place: a kernel, a plane task of a collective, or a part of one that has its own row.
    "tasks": lambda run, _: number(
        run,
        """select (select count(*) from kernel where kind <> 'communication') + (select count(*) from comm_task)
                  + (select coalesce(sum("count"), 0) from damage where kind = 'task_part')""",
    ),
    "comm_ops_ms": lambda run, _: rows(run, "select name, dur_ns / 1e6 from collective order by ts_ns"),
    "op_compile": lambda run, _: rows(
        run,
        """select name, count(*), sum(dur_ns) / 1e3
           from host_call
           where name = 'aclopCompileAndExecute'
           group by name""",
    ),
}


@pytest.mark.parametrize(("folder", "figure"), [(folder, figure) for folder in GOLDEN for figure in GOLDEN[folder]])
def test_a_golden_figure_is_met(folder: str, figure: str) -> None:
    if figure not in FIGURES:
        pytest.fail(f"golden.json holds a figure that this test does not know: {figure}")
    expected = GOLDEN[folder][figure]

    measured = FIGURES[figure](opened(folder), expected)

    assert list(close(measured, expected, figure)) == []


def test_the_golden_file_names_the_five_folders() -> None:
    assert sorted(GOLDEN) == sorted(str(path.parent.parent.relative_to(DATA)) for path in _outputs())


def _outputs() -> list[Path]:
    return [
        path for path in DATA.glob("*/*/*/ASCEND_PROFILER_OUTPUT/*") if path.name in ("trace_view.json", "analysis.db")
    ]


# Checks of the format description.


@pytest.mark.parametrize("folder", list(GOLDEN))
def test_our_sweep_agrees_with_the_step_trace_that_the_exporter_wrote(folder: str) -> None:
    run = opened(folder)
    written = dict(run.sql("select name, value from metric where name like 'exporter.step_trace.%'").fetchall())
    step = step_trace(run, {})

    named = {name.removeprefix("exporter.step_trace."): value / 1e3 for name, value in written.items()}

    assert list(close({name: step[name] for name in named}, named, folder)) == []
    assert len(named) == 9


def test_level_1_text() -> None:
    run = opened(TEXT)

    assert number(run, "select list(distinct group_id) from collective") == ["17522688603477080586"]
    assert rows(run, "select op, count(*) from collective group by op") == [["allreduce", 4]]
    assert rows(run, "select step, origin from step") == [[50, "mark"]]


def test_level_0_text_has_no_types_and_says_so() -> None:
    run = opened("text/level0/rank0_ascend_pt")

    assert rows(run, "select distinct op_type, input_shapes from kernel where kind = 'compute'") == [[None, None]]
    turned = rows(run, "select state, turn_on from coverage where table_name = 'kernel' and column_name = 'op_type'")
    assert turned == [["missing", LEVEL1_ON]]


@pytest.mark.parametrize("rank", [0, 1])
def test_level_1_database(rank: int) -> None:
    run = opened(f"db/level1/rank{rank}_ascend_pt")

    assert number(run, f"select count(*) {COMPUTE_WORK}") == 187
    assert number(run, "select count(*) from collective") == 4
    assert number(run, "select count(*) from comm_task") == 296
    # The hash that stands in analysis.db; the database of the tasks knows only the text that it is a hash of.
    assert number(run, "select list(distinct group_id) from collective") == ["513616803227540210"]


@pytest.mark.parametrize(
    ("folder", "computing_us", "communication_us", "stage_us"),
    [
        ("db/level1/rank0_ascend_pt", 8903.431, 102108.1, 132233.522),
        ("db/level1/rank1_ascend_pt", 8915.634, 98590.19, 129312.183),
    ],
)
def test_unions_of_the_database_are_exact(
    folder: str, computing_us: float, communication_us: float, stage_us: float
) -> None:
    breakdown = analysis.step_breakdown(opened(folder))

    found = breakdown.project("stage_compute_ns, stage_communication_ns, stage_ns").fetchall()

    assert found == [tuple(round(value * 1e3) for value in (computing_us, communication_us, stage_us))]


@pytest.mark.parametrize("folder", [folder for folder in GOLDEN if folder.startswith("text/")])
def test_times_of_the_csv_come_back_to_the_nanosecond(folder: str) -> None:
    with (DATA / folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(newline="", encoding="utf-8") as file:
        raw = [
            (
                row["Name"],
                int(Decimal(row["Start Time(us)"].strip()) * 1000),
                int(Decimal(row["Duration(us)"].strip()) * 1000),
            )
            for row in csv.DictReader(file)
        ]

    found = opened(folder).sql(f"select name, ts_ns, dur_ns {DEVICE_WORK}").fetchall()

    assert sorted(found) == sorted(raw)


@pytest.mark.parametrize("rank", [0, 1])
def test_times_of_the_database_come_back_to_the_nanosecond(rank: int) -> None:
    folder = f"db/level1/rank{rank}_ascend_pt"
    path = DATA / folder / "ASCEND_PROFILER_OUTPUT" / f"ascend_pytorch_profiler_{rank}.db"
    with sqlite3.connect(f"file:{path}?immutable=1", uri=True) as raw:
        computed = raw.execute(
            """select name.value, task.startNs, task.endNs - task.startNs
               from COMPUTE_TASK_INFO info
               join TASK task on task.globalTaskId = info.globalTaskId
               join STRING_IDS name on name.id = info.name"""
        ).fetchall()

    found = opened(folder).sql(f"select name, ts_ns, dur_ns {COMPUTE_WORK}").fetchall()

    assert sorted(found) == sorted(computed)


STRUCTURE = {
    "kernels": "select kind, core_type, op_type, count(*) from kernel group by all order by all",
    "shapes": f"select op_type, input_shapes, output_dtypes, count(*) {COMPUTE_WORK} group by all order by all",
    "collectives": "select op, sequence, size_bytes, dtype, method from collective order by sequence",
    "plane tasks": "select name, transport, count(*), sum(size_bytes) from comm_task group by all order by all",
    "links": "select src_rank, dst_rank, transport, size_bytes from link order by all",
    "operators": "select name, depth, count(*) from operator group by all order by all",
    "steps": "select step, origin from step",
    "coverage": "select table_name, column_name, state from coverage order by all",
    "members": "select kind, group_rank, group_size, size_is_exact from comm_group_member order by all",
}


@pytest.mark.parametrize("part", STRUCTURE)
def test_text_and_database_of_one_job_have_the_same_structure(part: str) -> None:
    text, database = (rows(opened(folder), STRUCTURE[part]) for folder in (TEXT, DATABASE))

    assert text == database
    assert text != []


def test_two_ranks_of_at_least_eight_are_one_run() -> None:
    run = ascend_sn.open(DATA / "text" / "level1")

    (presence,) = analysis.rank_presence(run).project("present, expected, expected_is_exact, basis").fetchall()

    assert presence == (2, 8, False, "group")
    assert rows(run, "select profile_id, rank, source from profile order by 1") == [
        [0, 0, "rank0_ascend_pt"],
        [1, 1, "rank1_ascend_pt"],
    ]
    by_rank = analysis.communication_summary(run).project("rank, calls, members_present, members_expected")
    assert by_rank.fetchall() == [(0, 4, 2, 8), (1, 4, 2, 8)]
