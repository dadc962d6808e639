"""Where each key of the field cases' truth blocks is found in an opened run: one function per key.

A function takes the case's folder and what the key expects, and returns what was measured in the same form.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ascend_sn
from ascend_sn import Run, analysis
from ascend_sn.errors import EmptyInputError, NotParsedError
from ascend_sn.formats.chrome.scanning import Scan
from ascend_sn.formats.torch_npu.run_folder import RAW_READER
from ascend_sn.model.ledger import Ledger

__all__ = ["TRUTHS", "Measure"]

Measure = Callable[[Path, Any], Any]

ASCEND = "node-a_41000_20251009081320123_ascend_pt"


def query(run: Run, text: str) -> list[tuple[Any, ...]]:
    return run.sql(text).fetchall()


def value(run: Run, text: str) -> Any:
    ((found,),) = query(run, text)
    return found


def agreed(by_variant: dict[str, Any]) -> Any:
    """Return what all variants of one input say; where they differ, all of it, which equals nothing expected."""
    first, *others = by_variant.values()
    return first if all(other == first for other in others) else by_variant


def of(name: str, text: str) -> Measure:
    """Return the value of a query on one input of the case."""
    return lambda case, _: value(ascend_sn.open(case / name), text)


def of_each(names: tuple[str, ...], text: str) -> Measure:
    """Return the value of a query that gives the same on several inputs of the case."""
    return lambda case, _: agreed({name: value(ascend_sn.open(case / name), text) for name in names})


COMPUTE = "from kernel where kind in ('compute', 'fused')"
COMPUTE_US = f"select sum(dur_ns) / 1e3 {COMPUTE}"
COMPUTE_COUNT = f"select count(*) {COMPUTE}"
KERNELS = "select count(*) from kernel"


def events_in(path: Path) -> int:
    """How many events of any kind a trace file holds, read as the readers read it."""
    scan = Scan(path, path.name, Ledger(), ())
    for _ in scan.blocks():
        pass
    return scan.event_count


# dv01


def events_read(name: str) -> Measure:
    """The number that the ledger gives for a file that ends early."""

    def measure(case: Path, _: Any) -> int:
        example = value(ascend_sn.open(case / name), "select example from damage where kind = 'truncated'")
        found = re.search(r"(\d+) (complete )?events were read", example)
        assert found is not None, example
        return int(found[1])

    return measure


def more_than_read(name: str) -> Measure:
    """What the file held before it was cut cannot be read from it; it is more than was read."""

    def measure(case: Path, expected: int) -> int:
        read = int(events_read(name)(case, None))
        return expected if read < expected else read

    return measure


STEP_PARTS = {
    "computing_us": "stage_compute_ns",
    "communication_us": "stage_communication_ns",
    "overlapped_us": "stage_overlapped_ns",
    "not_overlapped_us": "stage_exposed_comm_ns",
    "free_us": "stage_free_ns",
    "stage_us": "stage_ns",
    "preparing_us": "preparing_ns",
}


def every_step(case: Path, _: Any) -> Any:
    breakdown = analysis.step_breakdown(ascend_sn.open(case / ASCEND))
    columns = ", ".join(f"{ours} / 1e3 as {theirs}" for theirs, ours in STEP_PARTS.items())
    found = breakdown.project(f"step, {columns}").fetchall()
    return agreed({f"step {step}": dict(zip(STEP_PARTS, parts, strict=True)) for step, *parts in found})


def numbers_of_steps(case: Path, _: Any) -> list[int]:
    return [step for (step,) in query(ascend_sn.open(case / ASCEND), "select step from step order by ts_ns")]


# dv04

UNCLOSED = ("unclosed.json", "trailing_comma.json")


# dv05, dv06


def kernels_per_file(case: Path, expected: dict[str, int]) -> dict[str, int]:
    return {name: _kernels(case / name) for name in expected}


def _kernels(path: Path) -> int:
    try:
        return int(value(ascend_sn.open(path), KERNELS))
    except EmptyInputError:
        return 0


# dv07


def generated(case: Path, expected: dict[str, Any]) -> dict[str, Any]:
    """Generate the trace, hold kernel count and sum against what the generator printed."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "t.json"
        said = subprocess.run(
            [sys.executable, str(case / "gen_large.py"), str(trace), str(expected["mb"])],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        with ascend_sn.open(trace, cache_dir=Path(folder) / "cache") as run:
            ((count, total_us),) = query(run, "select count(*), sum(dur_ns) / 1000 from kernel")
    measured = f"kernels: {count} kernel_sum_us: {total_us:.0f}"
    return expected if said.strip() == measured else {"generated": said.strip(), "measured": measured}


# dv08


def in_all_exports(text: str) -> Measure:
    """The value of a query on the database export, and on the text export beside it."""

    def measure(case: Path, _: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            text_only = shutil.copytree(case / ASCEND, Path(folder) / ASCEND)
            (text_only / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_0.db").unlink()
            with ascend_sn.open(text_only, cache_dir=Path(folder) / "cache") as run:
                assert value(run, "select format from profile") == "torch_npu-text"
                from_text = value(run, text)
            return agreed({"database": value(ascend_sn.open(case / ASCEND), text), "text": from_text})

    return measure


def stream_2(case: Path, expected: Any) -> Any:
    return in_all_exports("""
        with neighbours as (
            select dur_ns, ts_ns - lag(ts_ns + dur_ns) over (order by ts_ns) as gap_ns
            from kernel
            where stream = '2'
        )
        select {
            kernels: count(*),
            sum_us: sum(dur_ns) / 1e3,
            gaps: count(gap_ns) filter (where gap_ns > 0),
            gap_each_us: case when min(gap_ns) = max(gap_ns) then min(gap_ns) / 1e3 end,
            overlapping_neighbours: count(*) filter (where gap_ns < 0)
        }
        from neighbours
    """)(case, expected)


def stream_3(case: Path, expected: Any) -> Any:
    return in_all_exports("select {kernels: count(*), sum_us: sum(dur_ns) / 1e3} from kernel where stream = '3'")(
        case, expected
    )


def of_the_stage(column: str) -> Measure:
    def measure(case: Path, _: Any) -> Any:
        ((found,),) = analysis.step_breakdown(ascend_sn.open(case / ASCEND)).project(f"{column} / 1e3").fetchall()
        return found

    return measure


# dv09


def busy_us(case: Path, _: Any) -> float:
    ((found,),) = (
        analysis.step_breakdown(ascend_sn.open(case / "trace.json"))
        .filter("scope = 'whole capture'")
        .project("compute_ns / 1e3")
        .fetchall()
    )
    return float(found)


def overlap_us(case: Path, _: Any) -> float:
    return float(of("trace.json", COMPUTE_US)(case, None)) - busy_us(case, None)


# dv11


def whole_window(case: Path, _: Any) -> dict[str, float]:
    columns = {
        "computing_us": "stage_compute_ns",
        "comm_us": "stage_communication_ns",
        "overlapped_us": "stage_overlapped_ns",
        "exposed_us": "stage_exposed_comm_ns",
        "stage_us": "stage_ns",
        "free_us": "stage_free_ns",
    }
    breakdown = analysis.step_breakdown(ascend_sn.open(case / ASCEND)).filter("scope = 'whole capture'")
    (found,) = breakdown.project(", ".join(f"{ours} / 1e3" for ours in columns.values())).fetchall()
    return dict(zip(columns, found, strict=True))


# dv13


def is_parsed(case: Path, _: Any) -> bool:
    try:
        ascend_sn.open(case / ASCEND)
    except NotParsedError:
        return False
    return True


def rank_of_raw(case: Path, _: Any) -> int:
    """The only file that is read of raw data carries the rank in its name."""
    (info,) = RAW_READER.members(case / ASCEND)
    return int(info.stem.rpartition("_")[2])


def bytes_still_to_parse(case: Path, _: Any) -> int:
    return sum(path.stat().st_size for path in case.glob(f"{ASCEND}/PROF_*/device_*/data/*.slice_?"))


# dv15


def parts_by_rank(case: Path, _: Any) -> Any:
    run = ascend_sn.open(case)
    compute = query(run, f"select rank, step_id, sum(dur_ns) {COMPUTE} group by all")
    parts = analysis.collective_parts(run)
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for rank, step_id, total in compute:
        figures.setdefault(str(rank), {})[step_id] = {"compute_us": total / 1e3}
    columns = "rank, step_id, sum(dur_ns) / 1e3, sum(wait_ns) / 1e3, sum(transit_ns) / 1e3"
    for rank, step_id, *sums in parts.aggregate(columns, "rank, step_id").fetchall():
        names = ("comm_elapsed_us", "comm_wait_us", "transit_us")
        figures[str(rank)][step_id].update(zip(names, sums, strict=True))
    return {rank: agreed(steps) for rank, steps in figures.items()}


def waited_for(case: Path, _: Any) -> int:
    """The rank that does not wait itself."""
    waits = analysis.collective_parts(ascend_sn.open(case)).aggregate("rank, sum(wait_ns) as waited", "rank")
    return int(waits.order("waited").limit(1).fetchall()[0][0])


def lost_per_step(case: Path, _: Any) -> float:
    """The longest waiting of any rank, mean over the steps."""
    waits = analysis.collective_parts(ascend_sn.open(case)).aggregate(
        "step_id, rank, sum(wait_ns) as waited", "step_id, rank"
    )
    ((found,),) = waits.aggregate("step_id, max(waited) as lost", "step_id").aggregate("avg(lost) / 1e3").fetchall()
    return float(found)


# dv16

AI_CPU = f"select sum(dur_ns) filter (where core_type = 'AI_CPU') %s {COMPUTE}"
WITHOUT_KERNEL = """
    with launched as (select distinct operator_id from kernel where operator_id is not null)
    select name, sum(dur_ns) / 1e3 / (select count(*) from step) as us_per_step
    from operator
    anti join launched using (operator_id)
    where name like 'aten::%'
    group by name
    order by us_per_step desc
    limit 1
"""


# dv17

DIALECTS = ("a_level1_ascend_pt", "b_shuffled_ascend_pt", "c_bom_ascend_pt")


def top_type(figure: str) -> Measure:
    def measure(case: Path, _: Any) -> Any:
        tops = {name: analysis.kernel_statistics(ascend_sn.open(case / name)) for name in DIALECTS}
        return agreed({name: top.project(figure).limit(1).fetchall()[0][0] for name, top in tops.items()})

    return measure


# dv18


SCHEDULED = """
import json, logging, os, re, runpy, sys
from pathlib import Path
import ascend_sn
from ascend.profiler import Profiler

said = []

class Heard(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage())

logging.getLogger("ascend_sn.collect").addHandler(Heard())
runs = {}
for name in sys.argv[3:]:
    os.environ["N"] = name.removeprefix("N=")
    train = runpy.run_path(sys.argv[1])["train"]
    folder = Path(sys.argv[2]) / name
    with Profiler(output_path=folder, schedule={"wait": 1, "warmup": 1, "active": 3, "repeat": 1}) as profiler:
        train(profiler.step)
    runs[name] = 0
    if folder.exists():
        ((runs[name],),) = ascend_sn.open(folder).sql("select count(*) from step").fetchall()
needed = {int(number) for text in said for number in re.findall(r"schedule needs (\\d+) steps", text)}
print(json.dumps({"needed_steps": sorted(needed), "runs": runs}))
"""


def scheduled(case: Path, runs: tuple[str, ...]) -> Any:
    """Run the program of the case with its schedule, for several numbers of steps."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", SCHEDULED, str(case / "workload.py"), folder, *runs]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def steps_needed(case: Path, _: Any) -> Any:
    """Return the steps that the message to a program that ended too early names."""
    (needed,) = scheduled(case, ("N=0",))["needed_steps"]
    return needed


def steps_kept(case: Path, expected: dict[str, str]) -> dict[str, str]:
    """Say of each run what its recording holds; there is no folder where nothing was kept."""
    words = {0: "no data", 1: "1 full active step"}
    found = scheduled(case, tuple(expected))["runs"]
    return {name: words.get(count, f"{count} active steps") for name, count in found.items()}


# dv19

SIX_STEPS = """
import contextlib, sys
from pathlib import Path
from ascend.profiler import Profiler
from ascend_sn.errors import ProfilerError

folder = Path(sys.argv[1])
(folder / "file.txt").write_text("x")
profiler = Profiler()
with contextlib.suppress(ProfilerError):
    profiler.start(output_dir=folder / "file.txt" / "x")
profiler.start(output_dir=folder / "good")
with contextlib.suppress(ProfilerError):
    profiler.start(output_dir=folder / "good")
profiler.start_op("first")
profiler.stop_op("first")
profiler.stop()
profiler.stop()
with contextlib.suppress(RuntimeError), profiler:
    profiler.start_op("second")
    raise RuntimeError("in the model")
"""


def sessions_recorded(case: Path, _: Any) -> int:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", SIX_STEPS, folder], check=True, timeout=300)
        with ascend_sn.open(Path(folder) / "good", cache_dir=Path(folder) / "cache") as run:
            return int(value(run, "select session_count from profile"))


# dv20


def median_ms(run: Run) -> float:
    """Median step without the first one."""
    return float(
        value(
            run,
            "select median(dur_ns) / 1e6 from (select dur_ns from step order by profile_id, ts_ns offset 1)",
        )
    )


def median_step(name: str) -> Measure:
    def measure(case: Path, expected: dict[str, float]) -> dict[str, float]:
        found = {"median_step_ms_without_first": round(median_ms(ascend_sn.open(case / name)), 3)}
        if "change_percent" in expected:
            base = median_ms(ascend_sn.open(case / "base"))
            found["change_percent"] = round(100 * (median_ms(ascend_sn.open(case / name)) / base - 1), 2)
        return found

    return measure


TRUTHS: dict[str, dict[str, Measure]] = {
    "dv01_truncated_trace": {
        "ascend_events_total": more_than_read(ASCEND),
        "ascend_events_recoverable": events_read(ASCEND),
        "kineto_events_total": more_than_read("kineto_cut.json"),
        "kineto_events_recoverable": events_read("kineto_cut.json"),
        "per_step": every_step,
        "steps": numbers_of_steps,
    },
    "dv02_memory_asked_but_absent": {
        "memory_events": of_each(("trace.json", ASCEND), "select count(*) from memory_event"),
        "kernels": of("trace.json", KERNELS),
    },
    "dv03_invalid_utf8": {
        "kineto_kernels": of("trace.json", KERNELS),
        "kineto_kernel_sum_us": of("trace.json", COMPUTE_US),
        "ascend_kernels": of(ASCEND, COMPUTE_COUNT),
        "ascend_kernel_sum_us": of(ASCEND, COMPUTE_US),
    },
    "dv04_unclosed_array": {
        "events_each": lambda case, _: agreed({name: events_in(case / name) for name in UNCLOSED}),
        "kernels": of_each(UNCLOSED, KERNELS),
        "kernel_sum_us": of_each(UNCLOSED, COMPUTE_US),
    },
    "dv05_container_shapes": {"kernels": kernels_per_file},
    "dv06_metadata_only": {
        "events": lambda case, _: events_in(case / "trace.json"),
        "kernels": lambda case, _: _kernels(case / "trace.json"),
    },
    "dv07_large_trace": {"small_check": generated},
    "dv08_string_ts_precision": {
        "kernels": in_all_exports(KERNELS),
        "stream2": stream_2,
        "stream3": stream_3,
        "computing_union_us": of_the_stage("stage_compute_ns"),
        "free_us": of_the_stage("stage_free_ns"),
        "flows_torch_to_npu": in_all_exports("select count(operator_id) from kernel"),
        "distinct_flow_ids": in_all_exports("select count(distinct operator_id) from kernel"),
    },
    "dv09_partial_overlap": {
        "kernels": of("trace.json", KERNELS),
        "sum_us": of("trace.json", COMPUTE_US),
        "busy_union_us": busy_us,
        "overlap_us": overlap_us,
    },
    "dv10_no_rank_info": {
        "rank": of("host_1234.1760000000.pt.trace.json", "select rank from profile"),
        "kernels": of("host_1234.1760000000.pt.trace.json", KERNELS),
    },
    "dv11_no_step_marks": {"whole_window": whole_window},
    "dv12_no_device_data": {
        # The step marks are calls on the host as well; they have a table of their own.
        "host_ops": of(ASCEND, "select (select count(*) from operator) + (select count(*) from step)"),
        "device_kernels": of(ASCEND, KERNELS),
        "launch_calls": of(ASCEND, "select count(*) from host_call"),
    },
    "dv13_raw_only": {"parsed": is_parsed, "rank": rank_of_raw, "raw_bytes_device": bytes_still_to_parse},
    "dv14_comm_kernel_names": {
        "kineto_comm_us": of("trace.json", "select sum(dur_ns) / 1e3 from kernel where kind = 'communication'"),
        "kineto_compute_us": of("trace.json", COMPUTE_US),
        "kineto_comm_kernels": of("trace.json", "select count(*) from collective"),
        "ascend_comm_us": of(ASCEND, "select sum(dur_ns) / 1e3 from collective"),
        "ascend_comm_ops": of(ASCEND, "select count(distinct op) from collective"),
        "ascend_p2p_ops": of(ASCEND, "select count(*) from collective where op in ('send', 'receive')"),
        "ascend_fused_comm_compute_us": of(ASCEND, "select sum(dur_ns) / 1e3 from kernel where kind = 'fused'"),
        "ascend_compute_only_us": of(ASCEND, "select sum(dur_ns) / 1e3 from kernel where kind = 'compute'"),
    },
    "dv15_slow_rank": {"per_step": parts_by_rank, "slow_rank": waited_for, "lost_per_step_us": lost_per_step},
    "dv16_fallback_op": {
        "ai_cpu_us_per_step": of(ASCEND, AI_CPU % "/ 1e3 / (select count(*) from step)"),
        "ai_cpu_share_of_kernel_time": of(ASCEND, AI_CPU % "/ sum(dur_ns)"),
        "host_only_op": of(ASCEND, f"select name from ({WITHOUT_KERNEL})"),
        "host_only_us_per_step": of(ASCEND, f"select us_per_step from ({WITHOUT_KERNEL})"),
    },
    "dv17_csv_drift": {
        "compute_kernels": of_each(DIALECTS, COMPUTE_COUNT),
        "comm_rows": of_each(DIALECTS, "select count(*) from kernel where kind = 'communication'"),
        "compute_sum_us": of_each(DIALECTS, COMPUTE_US),
        "top_type": top_type("op_type"),
        "top_type_us": top_type("total_ns / 1e3"),
    },
    "dv18_short_schedule": {"needed_steps": steps_needed, "runs": steps_kept},
    "dv19_restart_and_bad_path": {"sessions_expected": sessions_recorded},
    "dv20_compare_jitter": {name: median_step(name) for name in ("base", "cand_noise", "cand_regressed")},
}
