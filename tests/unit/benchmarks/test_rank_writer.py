"""The generated rank is what it says, and every id chain in it can be followed."""

from __future__ import annotations

import json
from pathlib import Path

import ascend_sn
from benchmarks.rank_writer import write_rank


def test_the_truth_of_a_written_rank_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "trace_view.json"

    truth = write_rank(path, 200_000)

    events = json.loads(path.read_text())
    tasks = [event for event in events if "Task Type" in event.get("args", {})]
    assert truth.size_bytes == path.stat().st_size
    assert truth.events == len(events)
    assert truth.operators == sum(e.get("cat") == "cpu_op" and not e["name"].startswith("ProfilerStep") for e in events)
    assert (truth.kernels, truth.kernel_ns) == (len(tasks), sum(round(task["dur"] * 1_000) for task in tasks))


def test_every_kernel_of_a_written_rank_leads_to_its_operator(tmp_path: Path) -> None:
    path = tmp_path / "trace_view.json"
    truth = write_rank(path, 200_000)

    with ascend_sn.open(path, cache_dir=tmp_path / "cache") as run:
        (compute,) = run.sql("""
            select count(*), count(operator_id), count(host_call_id), count(step_id)
            from kernel
            where kind = 'compute'
        """).fetchall()
        tables = run.manifest.tables

    assert compute == (truth.kernels // 2,) * 4
    assert (tables["operator"], tables["host_call"], tables["step"]) == (truth.operators, truth.host_calls, truth.steps)
