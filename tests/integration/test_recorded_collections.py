"""A training that collects garbage in every step, recorded by the package itself and advised."""

from __future__ import annotations

from pathlib import Path

import pytest

import ascend_sn
from ascend_sn.advisor.advise import advise
from tests.unit.collect.recorded import run_script

COLLECTS = """
import gc, sys, time
from ascend.profiler import Profiler
gc.disable()
keep = [[number] for number in range(300_000)]
with Profiler(output_path=sys.argv[1], backend="host") as profiler:
    for _ in range(6):
        with profiler.op("forward"):
            time.sleep(0.002)
        if sys.argv[2] == "collecting":
            gc.collect()
        profiler.step()
"""


def test_collections_of_a_recorded_training_are_found_and_counted(tmp_path: Path) -> None:
    run_script(COLLECTS, tmp_path / "run", "collecting")

    with ascend_sn.open(tmp_path / "run") as run:
        (finding,) = advise(run, codes=["R-HOST-3"]).findings
        causes = run.sql("select count(*) from host_call where level = 'gc'").fetchall()
    assert finding.title.message_id == "rule.r-host-3.title"
    assert (finding.message.params["collection_count"], finding.message.params["step_count"]) == (6, 6)
    assert causes == [(6,)]


WITH_TORCH = """
import gc, sys
import torch
from ascend.profiler import Profiler
gc.disable()
keep = [[number] for number in range(300_000)]
with Profiler(output_path=sys.argv[1], backend="torch") as profiler:
    for _ in range(3):
        torch.mm(torch.ones(8, 8), torch.ones(8, 8))
        gc.collect()
        profiler.step()
"""


def test_beside_a_framework_they_stand_on_the_thread_of_its_operators_and_are_no_device(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    run_script(WITH_TORCH, tmp_path / "run")

    with ascend_sn.open(tmp_path / "run") as run:
        assert run.sql("select device_kind from profile").fetchall() == [("cpu",)]
        assert run.sql("""
            select level, count(*), count(distinct host_call_id) from host_call
            where thread in (select thread from operator) group by level
        """).fetchall() == [("gc", 3, 3)]


def test_without_collections_nothing_is_said(tmp_path: Path) -> None:
    run_script(COLLECTS, tmp_path / "run", "not")

    with ascend_sn.open(tmp_path / "run") as run:
        assert advise(run, codes=["R-HOST-3"]).findings == ()
