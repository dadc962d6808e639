"""A training that collects garbage in every step, recorded by the package itself and advised."""

from __future__ import annotations

from pathlib import Path

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


def test_without_collections_nothing_is_said(tmp_path: Path) -> None:
    run_script(COLLECTS, tmp_path / "run", "not")

    with ascend_sn.open(tmp_path / "run") as run:
        assert advise(run, codes=["R-HOST-3"]).findings == ()
