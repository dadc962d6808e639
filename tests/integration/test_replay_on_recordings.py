"""Replays of real trainings on the processor, recorded by our own profiler: are they what was recorded?

Not timed: shares of a step are compared, and what the graph says of a step with what the program measured itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import median

import pytest

from ascend_sn.collect.demo_training import run_demo_training
from ascend_sn.replay import Replay, TimeClass
from ascend_sn.replay.build import build_graph
from ascend_sn.replay.choose import Window
from ascend_sn.replay.critical_path import unexplained_ns
from ascend_sn.replay.engine import Draft, replayed
from ascend_sn.store import Run, open_run
from tests.integration.test_recording_torch import Recorded, record

STEPS = 8


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("demo")
    run_demo_training(folder / "run")
    with open_run(folder / "run", cache_dir=folder / "cache") as run:
        yield run


@pytest.fixture(scope="module", params=[("cnn", 0), ("cnn", 2), ("transformer", 0), ("transformer", 2)], ids=str)
def training(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    network, workers = request.param
    folder = tmp_path_factory.mktemp(f"{network}{workers}") / "run"
    yield from record(folder, network, "--workers", str(workers), "--steps", str(STEPS))


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    folder = tmp_path_factory.mktemp("ranks") / "run"
    yield from record(folder, "cnn", "--distributed", "--steps", str(STEPS), ranks=2)


def windows_of_steps(run: Run) -> list[list[Window]]:
    """Return the windows of every step that all profiles have."""
    rows = run.sql("""
        select coalesce(step, step_id) as number, profile_id, profile.rank, device_kind, ts_ns, dur_ns, step_id, step
        from step join profile using (profile_id)
        where dur_ns > 0
        order by number, profile_id
    """).fetchall()
    steps: dict[int, list[Window]] = defaultdict(list)
    for number, profile_id, rank, kind, start, dur, step_id, step in rows:
        steps[number].append(Window(profile_id, rank, kind, start, start + dur, step_id, step))
    return [windows for windows in steps.values() if len(windows) == len(run.profiles)]


def assert_every_step_is_replayed(run: Run, count: int) -> None:
    """Hold every step against its replay, and the run without residuals: one step may have met a busy machine."""
    found = windows_of_steps(run)
    assert len(found) == count
    without_residuals = []
    for windows in found:
        graph = build_graph(run.db, windows)
        timing = replayed(graph)
        longest = max(window.end_ns - window.start_ns for window in windows)
        assert graph.observed_ns == longest
        assert abs(timing.makespan_ns - longest) < 0.01 * longest
        assert unexplained_ns(graph, timing) <= 0.10 * longest
        without_residuals.append(Draft(graph).timing(residuals=False).makespan_ns / longest)
    assert median(without_residuals) == pytest.approx(1.0, rel=0.10)


def replay_of(run: Run) -> Replay:
    replay = Replay.of(run)
    assert isinstance(replay, Replay)
    return replay


def test_the_demo_training(demo: Run) -> None:
    replay = replay_of(demo)

    assert_every_step_is_replayed(demo, 40)
    assert (len(replay.choice.windows), replay.violations) == (2, 0)


def test_a_network_on_one_process(training: Recorded) -> None:
    assert_every_step_is_replayed(training.run, STEPS)


def test_the_chosen_step_is_the_median_one_after_the_warm_up(training: Recorded) -> None:
    rows = training.run.sql("select dur_ns from step order by step").fetchall()
    steady = sorted(dur for (dur,) in rows[1:])

    assert replay_of(training.run).observed_ns == steady[(len(steady) - 1) // 2]


def test_the_classes_of_the_critical_path_are_the_whole_step(training: Recorded) -> None:
    path = replay_of(training.run).critical_path()

    assert sum(path.class_ns.values()) == path.makespan_ns
    assert path.class_ns[TimeClass.COMPUTE] > 0


def test_waiting_for_workers_is_what_the_program_measured(training: Recorded) -> None:
    replay = replay_of(training.run)
    step = replay.choice.windows[0].step
    assert step is not None
    loading_ns = replay.critical_path().class_ns[TimeClass.DATA_LOADING]
    measured_ns = training.measured[0]["wait_seconds"][step] * 1e9

    assert loading_ns == pytest.approx(measured_ns, abs=2e6)


def test_two_ranks_that_reduce_their_gradients(ranks: Recorded) -> None:
    assert_every_step_is_replayed(ranks.run, STEPS)


def test_every_reduction_of_a_step_is_one_meeting_of_both_ranks(ranks: Recorded) -> None:
    replay = replay_of(ranks.run)
    graph = replay.graph
    whole = [
        {
            sequence
            for (sequence,) in ranks.run.sql(f"""
                select sequence from collective
                where profile_id = {window.profile_id} and op = 'allreduce'
                  and ts_ns >= {window.start_ns} and ts_ns + dur_ns <= {window.end_ns}
            """).fetchall()
        }
        for window in replay.choice.windows
    ]
    reductions = [collective for collective in graph.collectives if collective.op == "allreduce"]

    # On a busy machine a thread of PyTorch notes the end of its call after the step: then one rank is replayed alone.
    assert graph.violation_count == 0
    assert len(reductions) == len(set.union(*whole))
    assert sum(collective.transit_known for collective in reductions) == len(set.intersection(*whole))
