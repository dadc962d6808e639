"""The field cases of recording, and the exports."""

from __future__ import annotations

import csv
import json
import logging
import runpy
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

import duckdb
import pytest
import torch

import ascend_sn
from ascend.profiler import Profiler
from tests.shared_data import shared_root

CASE = Path(shared_root() or "absent") / "cases" / "dv18_short_schedule" / "workload.py"


@pytest.mark.skipif(not CASE.exists(), reason="the shared cases are not here")
@pytest.mark.parametrize(
    ("steps", "said", "recorded"),
    [
        (0, "schedule needs 5 steps, saw 0; nothing recorded", None),
        (1, "schedule needs 5 steps, saw 1; nothing recorded", None),
        (3, "schedule needs 5 steps, saw 3; 1 of 3 steps recorded", 1),
        (5, "", 3),
    ],
)
def test_dv18_a_program_that_ends_before_its_schedule(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    steps: int,
    said: str,
    recorded: int | None,
) -> None:
    monkeypatch.setenv("N", str(steps))
    train: Any = runpy.run_path(str(CASE))["train"]
    schedule = {"wait": 1, "warmup": 1, "active": 3, "repeat": 1}
    profiler = Profiler(output_path=tmp_path / "run", schedule=schedule)

    with caplog.at_level(logging.WARNING):
        profiler.start()
        train(profiler.step)
        profiler.stop()

    assert said in caplog.text
    assert bool(caplog.records) == bool(said)
    assert (tmp_path / "run").exists() == (recorded is not None)
    if recorded is not None:
        with ascend_sn.open(tmp_path / "run") as run:
            ((found,),) = run.sql("select count(*) from step").fetchall()
            ((linears,),) = run.sql("select count(*) from operator where name = 'aten::linear'").fetchall()
            marked = run.sql("select count from damage where kind = 'short_schedule'").fetchall()
        assert (found, linears) == (recorded, recorded)
        assert marked == [(3 - recorded,)][: 3 - recorded]


@pytest.mark.parametrize(("active", "level"), [(2, "INFO"), (1000, "WARNING")])
def test_the_size_is_estimated_before_anything_is_recorded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, active: int, level: str
) -> None:
    profiler = Profiler(output_path=tmp_path / "run", schedule={"wait": 3, "active": active}, max_size=10_000_000)

    with caplog.at_level(logging.INFO, "ascend_sn.collect"):
        profiler.start()

    (said,) = [record for record in caplog.records if "if a step has 20,000 operators" in record.getMessage()]
    assert said.levelname == level
    assert f"for the {active} steps of the schedule" in said.getMessage()
    assert "there is room for 10 MB, which is 12 such steps" in said.getMessage()  # 820 kB each
    profiler.stop()


def test_dv19_start_twice_stop_twice_and_a_bad_path_with_operators(tmp_path: Path) -> None:
    from ascend_sn.errors import ProfilerPathError, ProfilerStateError

    (tmp_path / "file.txt").touch()
    profiler = Profiler(output_path=tmp_path / "run")

    with pytest.raises(ProfilerPathError, match=r"file\.txt"):
        profiler.start(output_dir=tmp_path / "file.txt" / "x")
    profiler.start()
    with pytest.raises(ProfilerStateError):
        profiler.start()
    torch.ones(3).add(1)
    profiler.stop()
    profiler.stop()

    def failing() -> None:
        with profiler:
            torch.ones(3).mul(2)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert not profiler.is_recording
    with ascend_sn.open(tmp_path / "run") as run:
        ((sessions,),) = run.sql("select session_count from profile").fetchall()
        names = [name for (name,) in run.sql("select name from operator order by ts_ns").fetchall()]
    assert sessions == 2
    assert [name for name in names if name in ("aten::add", "aten::mul")] == ["aten::add", "aten::mul"]


def test_after_a_warm_up_that_no_window_followed_operators_are_recorded_again(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path / "run", schedule={"warmup": 1, "active": 1})

    profiler.start()
    profiler.stop()
    profiler.start()
    for _ in range(2):
        torch.ones(3).add(1)
        profiler.step()
    profiler.stop()

    assert set(profiler.fault_counts) == {"short schedule"}
    with ascend_sn.open(tmp_path / "run") as run:
        assert run.sql("select count(*) from operator where name = 'aten::add'").fetchall() == [(1,)]


def test_windows_follow_one_another_without_losing_operators_or_stretching_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ascend_sn.collect.framework.WINDOW_S", 0.0)
    profiler = Profiler(output_path=tmp_path)

    with profiler:
        for _ in range(4):
            torch.ones(3).add(1)
            profiler.step()

    with ascend_sn.open(tmp_path) as run:
        counted = run.sql("""
            select s.step, count(*) from step s join operator o on o.name = 'aten::add'
                and o.ts_ns >= s.ts_ns and o.ts_ns < s.ts_ns + s.dur_ns group by 1 order by 1
        """).fetchall()
        overlapping = run.sql("""
            select count(*) from (select ts_ns - lag(ts_ns + dur_ns) over (order by ts_ns) as after from step)
            where after <= 0
        """).fetchall()
    assert counted == [(0, 1), (1, 1), (2, 1), (3, 1)]
    assert overlapping == [(0,)]  # the writing of a window lies between two steps


def test_what_is_saved_in_the_middle_is_readable_at_once(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path / "run")
    profiler.start()
    torch.ones(3).add(1)
    profiler.step()

    profiler.save(intermediate=True)

    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    torch.ones(3).add(1)
    profiler.stop()
    counts = []
    for folder in ("copy", "run"):
        with ascend_sn.open(tmp_path / folder) as run:
            counts += run.sql("select count(*) from operator where name = 'aten::add'").fetchall()
    assert counts == [(1,), (2,)]


def test_a_second_profiler_records_spans_only_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first, second = Profiler(output_path=tmp_path / "first"), Profiler(output_path=tmp_path / "second")

    with first, second, second.op("forward"):
        torch.ones(3).add(1)

    assert "torch.profiler is at work already" in caplog.text
    for folder, kind in (("first", "cpu"), ("second", "host")):
        with ascend_sn.open(tmp_path / folder) as run:
            assert run.sql("select device_kind from profile").fetchall() == [(kind,)]


@pytest.mark.parametrize("with_memory", [False, True])
def test_a_recording_may_be_stopped_on_another_thread(tmp_path: Path, with_memory: bool) -> None:
    profiler = Profiler(output_path=tmp_path / "run", enable_memory=with_memory)

    profiler.start()
    torch.ones(3).add(1)
    stopping = threading.Thread(target=profiler.stop)
    stopping.start()
    while stopping.is_alive():  # the program is at work
        pass
    torch.ones(3).add(1)

    assert profiler.fault_counts == {}
    with ascend_sn.open(tmp_path / "run") as run:
        assert run.sql("select count(*) from operator where name = 'aten::add'").fetchall() == [(1,)]


def test_a_main_thread_that_waits_ends_torchs_window_when_it_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ascend_sn.collect.backends.main_thread.PATIENCE_S", 0.01)
    profiler = Profiler(output_path=tmp_path / "run", enable_memory=True)

    main = threading.get_ident()

    def stop_while_main_waits() -> None:
        while sys._current_frames()[main].f_code.co_name != "_wait_for_tstate_lock":
            pass
        profiler.stop()

    profiler.start()
    stopping = threading.Thread(target=stop_while_main_waits)
    stopping.start()
    stopping.join()

    autograd: Any = torch.autograd
    assert not autograd._profiler_enabled()
    assert profiler.fault_counts == {"stopping the framework's profiler": 1}


def test_operators_of_every_thread_are_recorded(tmp_path: Path) -> None:
    torch.ones(3).add(1)

    with Profiler(output_path=tmp_path / "run"):
        working = threading.Thread(target=lambda: torch.ones(3).add(1), name="serving")
        working.start()
        working.join()
        torch.ones(3).add(1)

    with ascend_sn.open(tmp_path / "run") as run:
        threads = run.sql("select thread from operator where name = 'aten::add'").fetchall()
    assert len(set(threads)) == len(threads) == 2


def test_a_profiler_of_the_program_that_ends_ours_keeps_what_it_has(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Profiler(output_path=tmp_path / "run") as profiler, profiler.op("forward"):  # noqa: SIM117
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as own:
            torch.ones(3).add(1)

    assert "aten::add" in {event.key for event in own.key_averages()}
    assert "somebody else has stopped torch.profiler" in caplog.text
    with ascend_sn.open(tmp_path / "run") as run:
        assert run.sql("select name from span").fetchall() == [("forward",)]


def test_beside_a_profiler_of_the_program_itself_only_spans_are_recorded(tmp_path: Path) -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as own:  # noqa: SIM117
        with Profiler(output_path=tmp_path / "run") as profiler, profiler.op("forward"):
            torch.ones(3).add(1)

    assert profiler.fault_counts == {"starting the framework's profiler": 1}
    assert "aten::add" in {event.key for event in own.key_averages()}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Profiler:
    profiler = Profiler(output_path=tmp_path_factory.mktemp("exported") / "run", backend="host")
    for _ in range(3):
        with profiler.op("forward"):
            pass
        profiler.step()
    profiler.stop()
    return profiler


def test_export_writes_a_file_per_table(recorded: Profiler) -> None:
    path = recorded.export("csv")

    assert path is not None
    with Path(path, "step.csv").open(encoding="utf-8", newline="") as file:
        assert [row["step"] for row in csv.DictReader(file)] == ["0", "1", "2"]


def test_export_to_arrow_and_html(recorded: Profiler, tmp_path: Path) -> None:
    arrow = recorded.export("arrow", tmp_path / "events.arrow")
    page = recorded.export("html", tmp_path / "report.html")

    assert arrow == str(tmp_path / "events.arrow")
    assert page is not None
    assert Path(page).read_text(encoding="utf-8").startswith("<!")


def test_export_to_json_and_parquet(recorded: Profiler, tmp_path: Path) -> None:
    document = recorded.export("json", tmp_path / "analysis.json")
    tables = recorded.export("parquet", tmp_path / "tables")

    assert document is not None
    assert json.loads(Path(document).read_text(encoding="utf-8"))["schema"].startswith("ascend-sn/analyze/")
    assert tables is not None
    spans = duckdb.read_parquet(f"{tables}/span.parquet").project("name").fetchall()
    assert spans == [("forward",)] * 3


def test_export_of_nothing_and_to_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    profiler = Profiler(output_path=tmp_path)

    with pytest.raises(ValueError, match="csv, json, parquet, arrow, html"):
        profiler.export("pdf")
    assert profiler.export("csv") is None
    assert "nothing was recorded" in caplog.text
