"""Replays of real captures: training recorded by our own profiler, and the sample of two ranks of an Ascend job."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ascend_sn.collect.demo_training import run_demo_training
from ascend_sn.replay import Gain, Replay, TimeClass, Unpriced, input_hidden
from ascend_sn.replay.build import build_graph
from ascend_sn.replay.choose import Window
from ascend_sn.replay.critical_path import unexplained_ns
from ascend_sn.replay.engine import Draft, replayed
from ascend_sn.store import Run, open_run
from tests.shared_data import requires_shared, shared_path


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Two processes that train on the CPU and sum their gradients over a socket."""
    folder = tmp_path_factory.mktemp("training")
    run_demo_training(folder)
    with open_run(folder, cache_dir=tmp_path_factory.mktemp("cache")) as run:
        yield run


def test_a_recorded_training_is_replayed_as_it_was(training: Run) -> None:
    replay = Replay.of(training)

    assert isinstance(replay, Replay)
    assert len(replay.choice.windows) == 2
    assert len(replay.graph.transit) > 0
    assert replay.identity_error_ratio < 0.01
    assert replay.unexplained_ratio <= 0.10
    assert replay.without_residuals_ns == pytest.approx(replay.observed_ns, rel=0.10)


def test_so_is_every_single_step_of_it(training: Run) -> None:
    steps = training.sql("""
        select step_id, list((profile_id, rank, ts_ns, dur_ns, step) order by profile_id)
        from step
        where dur_ns > 0
        group by step_id
        having count(*) = 2
        order by step_id
    """).fetchall()
    assert len(steps) > 10
    for step_id, ranks in steps:
        windows = [
            Window(profile_id, rank, "host", start, start + dur, step_id, step)
            for profile_id, rank, start, dur, step in ranks
        ]

        graph = build_graph(training.db, windows)

        timing = replayed(graph)
        assert abs(timing.makespan_ns - graph.observed_ns) < 0.01 * graph.observed_ns
        assert unexplained_ns(graph, timing) <= 0.10 * graph.observed_ns
        assert Draft(graph).timing(residuals=False).makespan_ns == pytest.approx(graph.observed_ns, rel=0.10)


def test_the_slow_loading_of_one_rank_has_a_price(training: Run) -> None:
    replay = Replay.of(training)
    assert isinstance(replay, Replay)

    gain = replay.gain(input_hidden(replay.graph, workers=0, cores=2))

    assert isinstance(gain, Gain)
    assert 0 < gain.expected_ns <= gain.high_ns < gain.base_ns
    assert gain.confidence == "low"


@requires_shared
@pytest.mark.parametrize("export", ["db", "text"])
def test_two_ranks_of_eight_of_the_sample(export: str) -> None:
    with open_run(shared_path(f"data/torch_npu/{export}/level1")) as run:
        replay = Replay.of(run)

        assert isinstance(replay, Replay)
        assert replay.observed_ns >= max(dur for (dur,) in run.sql("select dur_ns from step").fetchall())
        assert replay.identity_error_ratio < 0.01
        assert replay.unexplained_ratio <= 0.10
        assert replay.refusal is None
        path = replay.critical_path()
        # Most of the step is waited for ranks that are not in the capture, in the first all-reduce.
        assert sum(path.class_ns.values()) == replay.base_ns
        assert max(path.class_ns, key=lambda class_: path.class_ns[class_]) == TimeClass.WAIT


@requires_shared
def test_a_slow_rank_costs_what_the_others_wait() -> None:
    from ascend_sn.replay import straggler_normalised

    with open_run(shared_path("cases/dv15_slow_rank")) as run:
        replay = Replay.of(run)
        assert isinstance(replay, Replay)

        gain = replay.gain(straggler_normalised(replay.graph))

        # About 3 ms of each step of 20; that the host waits for the device at all is a guess there.
        assert isinstance(gain, Gain)
        assert (gain.low_ns, gain.expected_ns, gain.high_ns) == (0, 3_000_000, 3_000_000)


@requires_shared
def test_overlapping_kernels_of_a_stream_are_not_priced() -> None:
    with open_run(shared_path("cases/dv09_partial_overlap")) as run:
        replay = Replay.of(run)

        assert isinstance(replay, Replay)
        assert replay.violations > 0
        assert isinstance(replay.gain(input_hidden), Unpriced)
