"""A simulated job is what its truth says, its waits are consequences, and our readers and analyses find it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ascend_sn
from ascend_sn.store import Run
from benchmarks.cluster_faults import parsed_faults
from benchmarks.cluster_memory import ACTIVATION_BYTES, FLOOR_BYTES
from benchmarks.cluster_program import Call, Kernel, Model, Receive, Send
from benchmarks.cluster_shape import Shape
from benchmarks.cluster_timing import FIRST_STEP, Job, Noise, Plan, Record, simulate
from benchmarks.cluster_truth import breakdowns, truth_of
from benchmarks.simulated_cluster import main, write_job

EIGHT = Shape(dp=2, tp=2, pp=2, ep=2, ranks_per_host=4)
SMALL = Model(layers=1, micro_batches=2)


def plan(shape: Shape, *faults: str, steps: int = 4, kernel: float = 0.05, end_jitter_ns: int = 0) -> Plan:
    noise = Noise(kernel=kernel, step=kernel, end_jitter_ns=end_jitter_ns)
    return Plan(shape, SMALL, steps, noise, parsed_faults(faults, shape), seed=7)


def rows(relation: Any) -> list[dict[str, Any]]:
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job")
    faults = ("slow-rank:5:1.2", "clock:1:1500", "slow-link:0-2:4")
    write_job(simulate(plan(EIGHT, *faults, steps=8, end_jitter_ns=3_000)), folder)
    return folder


@pytest.fixture(scope="module")
def truth(written: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((written / "truth.json").read_text())
    return found


@pytest.fixture(scope="module")
def run(written: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with ascend_sn.open(written, cache_dir=tmp_path_factory.mktemp("cache")) as opened:
        yield opened


def test_nothing_of_a_written_job_is_damaged(run: Run, truth: dict[str, Any]) -> None:
    damage = run.sql("select kind, example from damage").fetchall()

    assert [kind for kind, example in damage if "truth.json" not in example] == []
    assert run.profiles.project("rank, host").fetchall() == [(rank["rank"], rank["host"]) for rank in truth["ranks"]]


def test_every_step_divides_as_the_truth_says_to_the_nanosecond(run: Run, truth: dict[str, Any]) -> None:
    names = ("window_ns", "compute_ns", "overlapped_ns", "communication_ns", "exposed_comm_ns", "free_ns")

    found = {
        (row["rank"], row["step"]): [row[name] for name in names]
        for row in rows(ascend_sn.analysis.step_breakdown(run))
    }

    assert found == {
        (rank["rank"], number): [rank["steps"][name][at] for name in names]
        for rank in truth["ranks"]
        for at, number in enumerate(truth["step_numbers"])
    }
    assert sum(values[0] for values in found.values()) == truth["sums"]["window_ns"]


def test_the_exporters_step_trace_is_that_of_our_own_stage_figures(run: Run) -> None:
    exported = {
        (row["rank"], row["step"], row["figure"]): row["dur_ns"] for row in rows(ascend_sn.analysis.exported_steps(run))
    }

    for row in rows(ascend_sn.analysis.step_breakdown(run)):
        for figure, name in (
            ("Computing", "stage_compute_ns"),
            ("Communication(Not Overlapped)", "stage_exposed_comm_ns"),
            ("Free", "stage_free_ns"),
            ("Stage", "stage_ns"),
            ("Bubble", "bubble_ns"),
            ("Preparing", "preparing_ns"),
        ):
            assert exported[row["rank"], row["step"], figure] == row[name], figure


def test_kernels_lead_to_their_launch_and_lie_in_their_step(run: Run, truth: dict[str, Any]) -> None:
    counts = run.sql("select kind, count(*), count(host_call_id), count(step_id) from kernel group by 1 order by 1")

    kernels, calls = (sum(rank[name] for rank in truth["ranks"]) for name in ("kernels", "collectives"))
    assert counts.fetchall() == [("communication", *[calls] * 3), ("compute", *[kernels] * 3)]


def test_every_collective_meets_all_members_of_its_group_at_one_moment(run: Run, truth: dict[str, Any]) -> None:
    offset = {rank["rank"]: rank["clock_offset_ns"] for rank in truth["ranks"]}
    meetings: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for row in rows(ascend_sn.analysis.collective_parts(run)):
        if row["op"] not in ("send", "receive"):
            meetings.setdefault((row["group_id"], row["op"], row["sequence"]), []).append(row)

    for calls in meetings.values():
        assert len({call["rank"] for call in calls}) == len(calls) == calls[0]["members_expected"]
        assert len({call["ts_ns"] + call["wait_ns"] - offset[call["rank"]] for call in calls}) == 1
        assert {call["method"] for call in calls} == {"recorded"}
        assert all(0 <= call["idle_ns"] <= 3_000 for call in calls)  # the jitter of the ends
    assert {len(calls) for calls in meetings.values()} == {2, 4}


def test_stages_are_known(run: Run, truth: dict[str, Any]) -> None:
    assert {row["rank"]: row["stage"] for row in rows(ascend_sn.analysis.stragglers(run))} == {
        rank["rank"]: rank["stage"] for rank in truth["ranks"]
    }


def test_clocks_are_found_within_the_stated_error(run: Run, truth: dict[str, Any]) -> None:
    offsets = rows(ascend_sn.analysis.clock_offsets(run))

    assert [row["method"] for row in offsets].count("unknown") == 0
    for row, rank in zip(offsets, truth["ranks"], strict=True):
        if row["error_ns"] is not None:
            assert abs(row["offset_ns"] - rank["clock_offset_ns"]) <= row["error_ns"]
    assert sum(row["error_ns"] is not None for row in offsets) >= 6  # the others go by the name of their host


def test_links_have_the_bandwidth_that_they_were_given(run: Run, truth: dict[str, Any]) -> None:
    found = rows(ascend_sn.analysis.link_matrix(run))

    assert {(row["src_rank"], row["dst_rank"]) for row in found} >= {(0, 2), (2, 0), (0, 1), (0, 4)}
    slow = next(fault for fault in truth["faults"] if fault["kind"] == "slow-link")
    for row in found:
        pair = {row["src_rank"], row["dst_rank"]}
        inside = len({rank // 4 for rank in pair}) == 1
        expected = slow["bandwidth_bytes_per_s"] if pair == {0, 2} else 20e9 if inside else 12.5e9
        assert row["transport"] == ("HCCS" if inside else "RDMA")
        assert row["dur_ns"] == pytest.approx(row["size_bytes"] * 1e9 / expected, rel=1e-4, abs=8)  # one a step
    assert slow["bandwidth_bytes_per_s"] == 5_000_000_000


def test_a_leak_has_the_slope_that_it_was_given_and_the_other_rank_none(tmp_path: Path) -> None:
    job = simulate(Plan(Shape(dp=2), Model(1, 1), 40, faults=parsed_faults(["leak:1:5242880"], Shape(dp=2))))
    write_job(job, tmp_path / "job")

    with ascend_sn.open(tmp_path / "job", cache_dir=tmp_path / "cache") as run:
        steady, leak = rows(ascend_sn.analysis.memory_leak(run))
        sites = rows(ascend_sn.analysis.leak_sites(run))
        (peak,) = run.sql("select max(allocated_bytes) from memory_sample where rank = 0").fetchall()[0]

    assert (steady["verdict"], leak["verdict"]) == ("steady", "leak")
    assert leak["slope_bytes_per_step"] == 5_242_880
    assert [(site["rank"], site["operator_name"]) for site in sites if site["is_leak"]] == [(1, "aten::cat")]
    assert peak == FLOOR_BYTES + ACTIVATION_BYTES


@pytest.mark.parametrize(
    "shape", [Shape(1), Shape(16), Shape(2, 4), Shape(2, 1, 3), Shape(4, 2, 2, 4)], ids=lambda shape: f"{shape.ranks}"
)
def test_nothing_starts_before_it_can_and_calls_end_together(shape: Shape) -> None:
    job = simulate(plan(shape, steps=2))

    for stage, run in enumerate(job.stages):
        ready = np.zeros(shape.ranks_of_stage, np.int64)
        for record in run.records:
            if isinstance(record.task, Call):
                members = shape.members(record.task.kind)
                if record.task.kind != "mp":
                    first = stage * shape.ranks_of_stage
                    members = members[members[:, 0] // shape.ranks_of_stage == stage] - first
                    end, start = (record.start + record.dur)[members], record.start[members]
                    assert (end == end[:, :1]).all()
                    assert (end - record.transit[members] == start.max(axis=1)[:, None]).all()
            if isinstance(record.task, Kernel | Receive) or (isinstance(record.task, Call) and record.task.blocks):
                assert (record.start >= np.maximum(ready, record.called)).all()
                ready = record.start + record.dur
        for step, parts in enumerate(breakdowns(run)):
            assert (parts["first"] >= run.step_start[step]).all()
            assert (parts["last"] <= run.step_start[step + 1]).all()


def test_what_is_sent_is_received_at_the_same_time() -> None:
    job = simulate(plan(Shape(2, 1, 3), steps=1))

    def of(stage: int, kind: type[Send | Receive], forward: bool) -> list[Record]:
        found = [(one, one.task) for one in job.stages[stage].records]
        return [one for one, task in found if isinstance(task, kind) and task.forward is forward]

    for near, far, forward in ((0, 1, True), (1, 2, True), (2, 1, False), (1, 0, False)):
        sent, received = of(near, Send, forward), of(far, Receive, forward)
        assert len(sent) == len(received) == SMALL.micro_batches
        for one, other in zip(sent, received, strict=True):
            assert (one.start + one.dur == other.start + other.dur).all()
            assert (np.minimum(one.wait, other.wait) == 0).all()  # the later of the two waits for nobody


def test_a_slow_rank_computes_so_much_longer_and_the_other_waits_for_it() -> None:
    job = simulate(plan(Shape(2), "slow-rank:1:1.5", steps=1, kernel=0.0))

    (parts,) = breakdowns(job.stages[0])
    assert parts["compute"][1] == parts["compute"][0] * 3 // 2
    calls = [record for record in job.stages[0].records if isinstance(record.task, Call)]
    assert len(calls) == 1
    assert all(record.wait[0] > 0 and record.wait[1] == 0 for record in calls)


def test_the_cost_of_a_fault_is_what_the_job_gains_without_it() -> None:
    shape = Shape(4)
    faulty = simulate(plan(shape, "slow-rank:2:1.25", "late-host:1:300", kernel=0.1))

    slow, late = truth_of(faulty)["faults"]

    def mean_own(job: Job, rank: int) -> float:
        return float(np.mean([(parts["window"] - parts["exposed_comm"])[rank] for parts in breakdowns(job.stages[0])]))

    without = simulate(plan(shape, "late-host:1:300", kernel=0.1))
    assert slow["own_ns"] == round(mean_own(faulty, 2) - mean_own(without, 2))
    compute = np.mean([parts["compute"][2] for parts in breakdowns(without.stages[0])])
    assert slow["own_ns"] == pytest.approx(0.25 * compute, rel=0.01)
    assert (slow["ranks"], slow["cause"], late["ranks"], late["cause"]) == ([2], "compute", [1], "host")
    assert late["own_ns"] > 0


def test_tokens_go_from_the_others_to_one_place_and_into_its_shapes(tmp_path: Path) -> None:
    shape = Shape(dp=4, ep=4)
    write_job(simulate(plan(shape, "tokens:2:1.9", steps=1, kernel=0.0)), tmp_path)

    shapes = {}
    for folder in tmp_path.glob("node-*"):
        lines = (folder / "ASCEND_PROFILER_OUTPUT/kernel_details.csv").read_text().splitlines()
        swish = next(line for line in lines if ",Swish," in line)
        shapes[int(folder.name.split("_")[1]) - 40_000] = swish.split('"""')[1]
    # 2048 tokens: 1.9 times as many at one place, (4 - 1.9) / 3 = 0.7 times at the three others.
    assert shapes == {0: "1434,16384", 1: "1434,16384", 2: "3891,16384", 3: "1434,16384"}


def test_an_output_layer_is_on_the_last_stage_only() -> None:
    job = simulate(plan(Shape(1, 1, 2), "vocabulary:32000", steps=1))

    extra = [sum(isinstance(one.task, Kernel) and one.task.is_extra for one in run.records) for run in job.stages]
    assert extra == [0, 2 * SMALL.micro_batches]


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("slow:1:2", "not a fault: slow:1:2"),
        ("slow-rank:2", "not a fault: slow-rank:2"),
        ("slow-rank:8:2", "not in this job: slow-rank:8:2"),
        ("slow-link:1-1:2", "not in this job: slow-link:1-1:2"),
        ("slow-rank:1:0", "has to be above 0: slow-rank:1:0"),
        ("tokens:0:2", "has to be below ep 2: tokens:0:2"),
        ("leak:0:100", "has to be a multiple of 512: leak:0:100"),
    ],
)
def test_a_fault_that_cannot_be_is_refused_in_one_line(
    fault: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(tmp_path / "job"), "--dp", "2", "--tp", "2", "--pp", "2", "--ep", "2", "--fault", fault]

    assert main(arguments) == 2

    error = capsys.readouterr().err
    assert error.startswith(f"error: {problem}")
    assert error.count("\n") == 1


def test_the_command_writes_the_same_job_for_the_same_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--dp", "2", "--steps", "1", "--layers", "1", "--micro-batches", "1"]

    codes = [
        main([str(tmp_path / name), *arguments, "--seed", seed]) for name, seed in (("a", "3"), ("b", "3"), ("c", "4"))
    ]

    def content(name: str) -> dict[str, bytes]:
        return {str(path.relative_to(tmp_path / name)): path.read_bytes() for path in (tmp_path / name).rglob("*.*")
                if path.is_file()}  # fmt: skip

    assert codes == [0, 0, 0]
    assert content("a") == content("b") != content("c")
    assert capsys.readouterr().out.startswith("2 ranks, ")
    assert main([str(tmp_path / "a")]) == 2
    assert capsys.readouterr().err == f"error: {tmp_path / 'a'} is not empty\n"
    numbers = json.loads((tmp_path / "a" / "truth.json").read_text())["step_numbers"]
    assert numbers == [FIRST_STEP]
