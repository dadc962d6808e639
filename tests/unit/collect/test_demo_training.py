"""The demo's training is a real one: shared gradients, falling loss, two recorded ranks."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from ascend_sn.collect.demo_network import SIZES
from ascend_sn.collect.demo_training import STEPS, run_demo_training
from ascend_sn.collect.recorder import int64_as_double
from ascend_sn.errors import ProfilerError
from ascend_sn.model.trace_schema import METRIC, SESSION_END, SPAN_COMMUNICATION, STEP
from tests.unit.collect.recorded import rows


def test_two_ranks_train_together_and_are_recorded(tmp_path: Path) -> None:
    run_demo_training(tmp_path / "run")

    folders = sorted((tmp_path / "run").iterdir(), key=lambda folder: folder.name[-1])
    assert [folder.name.rpartition("_")[2] for folder in folders] == ["rank0", "rank1"]
    gradient_bytes = [4 * (wide + 1) * narrow for wide, narrow in itertools.pairwise(SIZES)]
    assert gradient_bytes == [1_607_680, 525_312, 10_280]
    checksums = []
    for folder in folders:
        collectives = rows(folder, SPAN_COMMUNICATION)
        assert [row.value for row in collectives] == gradient_bytes[::-1] * STEPS
        assert [row.ref for row in collectives] == list(range(3 * STEPS))
        assert len(rows(folder, STEP)) == STEPS + 1
        assert len(rows(folder, SESSION_END)) == 1
        logged = [(row.name, int64_as_double(row.value)) for row in rows(folder, METRIC)]
        losses = [value for name, value in logged if name == "loss"]
        assert len(losses) == STEPS
        assert losses[-1] < losses[0] / 10
        checksums += [value for name, value in logged if name == "weights_checksum"]
    assert checksums[0] == checksums[1]


def test_a_rank_that_cannot_record_is_told(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("x")

    with pytest.raises(ProfilerError, match=r"rank \d: .*file\.txt/run"):
        run_demo_training(tmp_path / "file.txt" / "run")
