"""Analyses give of the summaries what they give of the run, to the last digit."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_sn.analysis import Missing, worked_out
from ascend_sn.analysis.summaries import SUMMARISED, open_summaries
from ascend_sn.store import Run, locate
from ascend_sn.store.mapping import in_turn
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
