"""Real trainings on the processor, recorded through PyTorch's profiler, against what they measured themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import ascend_sn
from ascend_sn.store import Run
from tests.unit.collect.recorded import script_environment

SCRIPT = Path(__file__).with_name("recorded_training.py")
STEPS = 6


class Recorded(NamedTuple):
    run: Run
    measured: list[dict[str, Any]]


def train(*arguments: str | Path, ranks: int = 0) -> list[dict[str, Any]]:
    """Run the training in processes of its own; what each rank measured, rank 0 first."""
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", str(ranks)] if ranks else []
    done = subprocess.run(
        [sys.executable, *launcher, str(SCRIPT), *map(str, arguments)],
        env=script_environment(OMP_NUM_THREADS="1"),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return sorted(lines, key=lambda line: line["rank"])


def record(folder: Path, *arguments: str, ranks: int = 0, **config: object) -> Iterator[Recorded]:
    measured = train(*arguments[:1], folder, *arguments[1:], "--config", json.dumps(config), ranks=ranks)
    with ascend_sn.open(folder) as run:
        yield Recorded(run, measured)


@pytest.fixture(scope="module")
def cnn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    yield from record(
        tmp_path_factory.mktemp("cnn") / "run", "cnn", "--workers", "2", enable_memory=True, trace_level=3
    )


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    folder = tmp_path_factory.mktemp("transformer") / "run"
    yield from record(folder, "transformer", trace_ops=["LayerNorm", "Softmax", "Conv2d"], trace_level=1)


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    yield from record(tmp_path_factory.mktemp("ranks") / "run", "cnn", "--distributed", ranks=2)


def test_the_results_are_bit_identical_with_and_without_recording(cnn: Recorded, ranks: Recorded) -> None:
    every = [*cnn.measured, *ranks.measured]

    assert [measured["is_as_without"] for measured in every] == [True, True, True]
    assert [measured["faults"] for measured in every] == [{}, {}, {}]


def test_steps_last_as_long_as_the_program_measured(cnn: Recorded) -> None:
    steps = cnn.run.sql("select step, dur_ns from step order by step").fetchall()

    assert [number for number, _ in steps] == list(range(STEPS))
    pairs = list(zip(steps, cnn.measured[0]["step_seconds"], strict=True))[1:]
    apart = sorted(abs(dur_ns / 1e9 - seconds) for (_, dur_ns), seconds in pairs)
    assert apart[len(apart) // 2] < 0.005  # a busy machine may take the processor away between two readings


def test_each_step_has_the_operators_of_the_network(cnn: Recorded) -> None:
    counted = cnn.run.sql("""
        select o.name, count(*) from operator o join step s on o.ts_ns >= s.ts_ns and o.ts_ns < s.ts_ns + s.dur_ns
        where o.name in ('aten::conv2d', 'aten::addmm', 'aten::cross_entropy_loss') group by 1 order by 1
    """).fetchall()

    assert counted == [("aten::addmm", STEPS), ("aten::conv2d", STEPS), ("aten::cross_entropy_loss", STEPS)]


def test_operators_lie_inside_the_span_that_the_program_drew_around_them(cnn: Recorded) -> None:
    outside = cnn.run.sql("""
        select count(*) from operator o where o.name = 'aten::conv2d' and not exists (
            select 1 from span s where s.name = 'forward' and s.domain = 'user'
                and s.ts_ns <= o.ts_ns and o.ts_ns + o.dur_ns <= s.ts_ns + s.dur_ns)
    """).fetchall()

    assert outside == [(0,)]


def test_waits_for_data_are_those_that_the_program_measured(cnn: Recorded) -> None:
    name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    waits = cnn.run.sql(f"select dur_ns, phase from operator where name = '{name}' order by ts_ns").fetchall()

    assert {phase for _, phase in waits} == {"data"}
    for (dur_ns, _), seconds in zip(waits, cnn.measured[0]["wait_seconds"], strict=False):
        assert dur_ns / 1e9 <= seconds + 0.001
    assert sum(dur_ns for dur_ns, _ in waits[1:STEPS]) / 1e9 == pytest.approx(
        sum(cnn.measured[0]["wait_seconds"][1:]), abs=0.02
    )


def test_shapes_phases_modules_and_stacks_came(cnn: Recorded) -> None:
    ((shapes, bytes_, phase),) = cnn.run.sql("""
        select distinct input_shapes, input_bytes, phase from operator where name = 'aten::conv2d'
    """).fetchall()
    phases = dict(cnn.run.sql("select phase, count(*) from operator group by 1").fetchall())
    ((stacked,),) = cnn.run.sql("select count(stack_id) from operator where name = 'aten::conv2d'").fetchall()

    assert shapes.startswith("4,3,8,8;4,3,3,3;4")
    assert bytes_ == 4 * (4 * 3 * 8 * 8 + 4 * 3 * 3 * 3 + 4)
    assert phase == "forward"
    assert set(phases) >= {"data", "forward", "backward", "optimizer"}
    assert stacked == STEPS


def test_an_allocation_of_a_known_size_is_there_and_given_back(cnn: Recorded) -> None:
    rows = cnn.run.sql("select kind, device from memory_event where size_bytes = 4000012 order by ts_ns").fetchall()

    assert rows == [("alloc", "cpu"), ("free", "cpu")]


def test_an_allocation_names_its_operator_and_its_line(cnn: Recorded) -> None:
    rows = cnn.run.sql("""
        select o.name, s.frames like '%recorded_training.py(%): main%' from memory_event e
        join operator o using (profile_id, operator_id) join stack s on s.profile_id = e.profile_id
            and s.stack_id = e.stack_id
        where e.size_bytes = 4000012 and e.kind = 'alloc'
    """).fetchall()

    assert rows == [("aten::empty", True)]


def test_leaf_operators_are_the_kernels_of_the_processor(cnn: Recorded) -> None:
    ((kind,),) = cnn.run.sql("select device_kind from profile").fetchall()
    kernels = dict(cnn.run.sql("select name, count(*) from kernel where kind = 'compute' group by 1").fetchall())

    assert kind == "cpu"
    assert STEPS // 2 < kernels["aten::addmm"] <= STEPS  # one that a busy machine interrupts may not stand for itself
    assert "aten::linear" not in kernels


def test_the_filter_keeps_the_chosen_types_under_their_framework_names(transformer: Recorded) -> None:
    names = {name for (name,) in transformer.run.sql("select distinct name from kernel").fetchall()}
    said = transformer.run.sql("select kind, example from damage where kind = 'filter_without_match'").fetchall()

    assert "aten::native_layer_norm" in names
    assert {name.removeprefix("aten::").lstrip("_") for name in names} <= {
        "native_layer_norm", "layer_norm", "native_layer_norm_backward", "softmax", "log_softmax"
    }  # fmt: skip
    assert said == [("filter_without_match", "trace_ops: no operator was of type Conv2d")]


def test_a_level_without_shapes_records_none(transformer: Recorded) -> None:
    ((shapes,),) = transformer.run.sql("select count(input_shapes) from operator").fetchall()
    state = transformer.run.sql("""
        select state, turn_on from coverage where table_name = 'operator' and column_name = 'input_shapes'
    """).fetchall()

    assert shapes == 0
    assert state == [("not_requested", "ProfilerConfig(trace_level=2) or ASCEND_PROFILING_TRACE_LEVEL=2")]


def test_two_ranks_become_one_run_with_their_collectives(ranks: Recorded) -> None:
    profiles = ranks.run.sql("select rank, pid, world_size from profile order by rank").fetchall()
    reduced = ranks.run.sql("""
        select rank, count(*) from collective where op = 'allreduce' and size_bytes = 4 group by 1 order by 1
    """).fetchall()

    assert profiles == [(0, ranks.measured[0]["pid"], 2), (1, ranks.measured[1]["pid"], 2)]
    assert reduced == [(rank, measured["reduced"]) for rank, measured in enumerate(ranks.measured)]


def test_the_same_collective_has_the_same_number_on_both_ranks(ranks: Recorded) -> None:
    numbers = ranks.run.sql("""
        select sequence, count(distinct op || size_bytes), count(*) from collective
        where group_id is not null and op = 'allreduce' group by 1
    """).fetchall()

    assert numbers
    assert all(kinds == 1 and members == 2 for _, kinds, members in numbers)
    assert ranks.run.sql("select distinct group_size, size_is_exact from comm_group_member").fetchall() == [(2, True)]
