"""Inputs that cannot be written, or not be read: nothing is written into them, and what is closed is named."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.unit.formats.torch_npu.databases import Strings, write_database

TRACE = {
    "schemaVersion": 1,
    "distributedInfo": {"rank": 0, "world_size": 2},
    "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": f"aten::op{at}", "pid": 1, "tid": 1, "ts": 10 * at, "dur": 5}
        for at in range(3)
    ],
}

AS_ANY_USER = """
import ctypes, os, sys

DROP, OVERRIDES, READS_ALL = 24, 1, 2  # prctl: PR_CAPBSET_DROP; CAP_DAC_OVERRIDE; CAP_DAC_READ_SEARCH
if os.geteuid() == 0:
    for capability in (OVERRIDES, READS_ALL):
        ctypes.CDLL(None).prctl(DROP, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""Starts Python without the right of root to pass over the modes of files."""

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def ascend_sn(tmp_path: Path) -> Iterator[Command]:
    """The command line, run by somebody whom modes stop; its home is a folder of its own."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {key: value for key, value in os.environ.items() if key not in ("ASCEND_SN_CACHE_DIR", "XDG_CACHE_HOME")}

    def run(*words: object, folder: Path = home) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", AS_ANY_USER, *map(str, words)]
        environment = kept | {"HOME": str(home)}
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    (closed := tmp_path / "closed").mkdir(mode=0o555)
    if run("-c", f"open({str(closed / 'x')!r}, 'w')").returncode == 0:
        pytest.skip("modes of files stop nobody here: root keeps its rights")
    yield lambda *words, folder=home: run("-m", "ascend_sn.cli.main", "--lang", "en", *words, folder=folder)
    for path, _, _ in os.walk(tmp_path):
        os.chmod(path, 0o755)


def write_protected(folder: Path) -> dict[str, bytes]:
    """Take the right to write from a folder and everything below; returns the files with their bytes."""
    for path in [*folder.rglob("*"), folder]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    return contents(folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    folder = tmp_path / "run" / "rank0"
    folder.mkdir(parents=True)
    (folder / "trace.json").write_text(json.dumps(TRACE))
    return folder


def database(tmp_path: Path, journal: str) -> Path:
    """A profiler's folder with a database; in mode `wal` one whose second task is in the log only."""
    live = tmp_path / "live" / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_0.db"
    live.parent.mkdir(parents=True)
    task = {"startNs": 1_000, "endNs": 9_000, "deviceId": 0, "globalTaskId": 1, "streamId": 2, "taskId": 1}
    s = Strings()
    write_database(live, s, TASK=[task | {"taskType": s("EVENT_WAIT")}])
    with closing(sqlite3.connect(live)) as connection:
        connection.execute(f"pragma journal_mode = {journal}")
        connection.execute(
            "insert into TASK select startNs + 100, endNs + 100, 0, null, 2, 0, taskType, 0, 2, 2, 0 from TASK"
        )
        connection.commit()
        return Path(shutil.copytree(live.parent.parent, tmp_path / "copied_ascend_pt"))


def test_a_trace_is_analysed_and_its_folder_left_alone(trace: Path, ascend_sn: Command, tmp_path: Path) -> None:
    before = write_protected(trace)

    told = ascend_sn("analyze", trace, "--format", "json")

    assert (told.returncode, told.stderr) == (0, "")
    assert [row["name"] for row in json.loads(told.stdout)["operators"]["operators"]] == [
        "aten::op0",
        "aten::op1",
        "aten::op2",
    ]
    assert contents(trace) == before
    assert list((tmp_path / "home" / ".cache" / "ascend-sn" / "runs").glob("*/manifest.json"))


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_database_is_read_whole_and_left_alone(journal: str, ascend_sn: Command, tmp_path: Path) -> None:
    folder = database(tmp_path, journal)
    before = write_protected(folder)

    told = ascend_sn("query", folder, "select count(*) as n from kernel", "--format", "csv")

    assert (told.returncode, told.stdout.split(), told.stderr) == (0, ["n", "2"], "")
    assert contents(folder) == before


@pytest.mark.parametrize("closed", ["folder", "file"])
def test_what_cannot_be_read_is_named_in_one_line(trace: Path, ascend_sn: Command, closed: str) -> None:
    path = trace if closed == "folder" else trace / "trace.json"
    path.chmod(0)

    told = ascend_sn("analyze", path)

    assert (told.returncode, told.stdout) == (3, "")
    assert told.stderr == f"ascend-sn: {path}: cannot be read: Permission denied\n"


@pytest.mark.parametrize("closed", ["rank1", "rank1/trace.json"])
def test_a_closed_rank_is_told_and_the_others_are_used(trace: Path, ascend_sn: Command, closed: str) -> None:
    shutil.copytree(trace, trace.with_name("rank1"))
    trace.with_name("rank1").parent.joinpath(closed).chmod(0)

    told = ascend_sn("doctor", trace.parent, "--strict")

    assert told.returncode == 1
    (line,) = (line for line in told.stdout.splitlines() if "Permission denied" in line)
    assert closed in line


def test_a_report_is_not_written_where_nothing_may_be(trace: Path, ascend_sn: Command) -> None:
    before = write_protected(trace)

    told = ascend_sn("report", trace, "--output", trace / "report.html")

    assert (told.returncode, len(told.stderr.splitlines())) == (3, 1)
    assert told.stderr.endswith("report.html: cannot be written: Permission denied\n")
    assert contents(trace) == before


def test_a_home_that_cannot_be_written_asks_for_another_cache(trace: Path, ascend_sn: Command, tmp_path: Path) -> None:
    (tmp_path / "home").chmod(0o555)

    told = ascend_sn("analyze", trace)
    elsewhere = ascend_sn("analyze", trace, "--cache-dir", tmp_path / "cache")

    assert (told.returncode, len(told.stderr.splitlines())) == (3, 1)
    assert "the cache cannot be written: Permission denied; name another folder with --cache-dir" in told.stderr
    assert (elsewhere.returncode, elsewhere.stderr) == (0, "")
