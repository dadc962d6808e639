"""Analyses give of the summaries what they give of the run, to the last digit."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_sn.analysis import Missing, worked_out
from ascend_sn.analysis.summaries import SUMMARISED, open_summaries
from ascend_sn.cli.comparing import measured_side
from ascend_sn.compare.measure import figures_of
from ascend_sn.report.words.language import Language
from ascend_sn.store import Run, locate
from ascend_sn.store.mapping import in_turn
from benchmarks.cluster_program import Model
from benchmarks.cluster_shape import Shape
from benchmarks.cluster_timing import Noise, Plan, simulate
from benchmarks.simulated_cluster import write_job
from tests.shared_data import requires_shared, shared_path


@requires_shared
@pytest.mark.parametrize("sample", ["torch_npu/text/level1", "torch_npu/db/level1", "kineto/nccl_parser_config"])
def test_summaries_give_what_the_run_gives(tmp_path: Path, sample: str) -> None:
    location = locate(shared_path("data", *sample.split("/")), cache_dir=tmp_path)
    compared = 0

    with (
        Run(location.folder, location.input) as run,
        open_summaries(location, mapping=in_turn, cache_dir=tmp_path) as summaries,
    ):
        for name in (*SUMMARISED, "rank_waits"):
            of_run, of_summaries = worked_out(run, name), worked_out(summaries, name)
            if isinstance(of_run, Missing) or isinstance(of_summaries, Missing):
                assert of_summaries == of_run, name
                continue
            assert of_summaries.fetchall() == of_run.fetchall(), name
            compared += 1

    assert compared >= 10


def test_figures_of_a_run_folder_come_from_summaries_in_the_named_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ascend_sn.analysis.opening.LOOKED_INTO_WHOLE", 0)  # every job is a large one
    monkeypatch.setenv("ASCEND_SN_CACHE_DIR", str(tmp_path / "default"))
    plan = Plan(shape=Shape(dp=1, tp=2, pp=1), model=Model(layers=1, micro_batches=2), steps=3)
    write_job(simulate(plan), tmp_path / "job")
    own = locate(tmp_path / "job", cache_dir=tmp_path / "read").folder.rename(tmp_path / "own")

    (figures,) = measured_side([own], Language.load("en"), cache_dir=tmp_path / "named").figures

    assert figures.profile_count == 2
    assert [path.name for path in (tmp_path / "named").iterdir()] == ["beside"]
    assert not (tmp_path / "default").exists()


@pytest.mark.parametrize("recorded", [True, False])
def test_figures_of_a_comparison_are_the_same_of_summaries_and_of_profiles(
    tmp_path: Path, recorded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ascend_sn.store.summaries._PROFILES", 3)  # three batches, the last one of two
    plan = Plan(shape=Shape(dp=2, tp=2, pp=2), model=Model(layers=1, micro_batches=2), steps=3, noise=Noise(0.05))
    write_job(simulate(plan), tmp_path / "job")
    if not recorded:  # then the ranks tell the parts of their calls together
        for parts in (tmp_path / "job").rglob("communication.json"):
            parts.unlink()
    location = locate(tmp_path / "job", cache_dir=tmp_path / "cache")

    with (
        Run(location.folder, location.input) as run,
        open_summaries(location, mapping=in_turn, cache_dir=tmp_path / "cache") as summaries,
    ):
        of_run, of_summaries = figures_of(run, "job"), figures_of(summaries, "job")
        kept = summaries.sql("select distinct profile_id from summary_work_of_steps order by all").fetchall()
        summaries.job = ""  # of one job of several the rows of its own profiles are summed
        of_rows = figures_of(summaries, "job")

    assert of_summaries == of_rows == of_run
    assert kept == [(0,), (3,), (6,)]
    assert of_run.profile_count == 8
    assert {one.op for one in of_run.collectives} >= {"allreduce", "send", "receive"}
    assert {one.transit_ns is None for one in of_run.collectives if one.op == "allreduce"} == {False}
    assert of_run.work
