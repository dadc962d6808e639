"""SQL that is not trusted sees the tables of one run and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ascend_sn
from ascend_sn.errors import QueryError
from ascend_sn.store.run import Run
from ascend_sn.store.sandbox import Sandbox
from ascend_sn.store.sandbox_process import Locked, Shown

TRACE = Path(__file__).resolve().parents[2] / "golden" / "train_trace" / "v1"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    folder = tmp_path / "recording"
    folder.mkdir()
    for name in ("train.trace", "names.trace"):
        shutil.copyfile(TRACE / name, folder / name)
    with ascend_sn.open(folder) as opened:
        yield opened


def rows(sandbox: Sandbox, sql: str) -> list[tuple[object, ...]]:
    with sandbox.answer(sql) as answer:
        return list(answer.rows())


def locked(run: Run, folder: Path) -> Locked:
    """What the other process holds, in this one."""
    return Locked(Shown(run.files, run.assumed_ranks, str(folder)))


def test_the_tables_are_those_of_the_run(run: Run) -> None:
    expected = run.sql("select step_id, dur_ns from step order by step_id").fetchall()

    with Sandbox(run) as sandbox, sandbox.answer("select step_id, dur_ns from step order by step_id") as answer:
        assert (answer.columns, answer.types) == (["step_id", "dur_ns"], ["INTEGER", "BIGINT"])
        assert list(answer.rows()) == expected
        assert len(expected) == 2


@pytest.mark.parametrize(
    "sql",
    [
        "",
        ";",
        "-- nothing",
        "select 1; select 2",
        "select 1; drop view kernel",
        "set threads = 64",
        "set enable_external_access = true",
        "pragma version",
        "call duckdb_settings()",
        "create table mine as select 1",
        "insert into kernel select * from kernel",
        "drop view kernel",
        "copy kernel to 'kernel.csv'",
        "copy (select 1) to '/dev/stdout'",
        "export database 'everything'",
        "attach 'other.db'",
        "install httpfs",
        "load httpfs",
        "explain analyze select 1",
        "prepare p as select 1",
        "begin",
        "pivot step on step_id using count(*)",
    ],
)
def test_only_one_select_is_run(run: Run, sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)

    with Sandbox(run) as sandbox, pytest.raises(QueryError, match="exactly one SELECT"):
        rows(sandbox, sql)
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize(
    "sql",
    [
        "from read_text('{secret}')",
        "from read_blob('{secret}')",
        "from read_csv('{secret}')",
        "from '{secret}'",
        "from read_json_auto('{secret}')",
        "from read_parquet('{folder}/*.parquet')",
        "from glob('{folder}/*')",
        "from sniff_csv('{secret}')",
        "from parquet_metadata('{folder}/x.parquet')",
        "from read_text('{manifest}')",
        "from read_parquet('https://example.com/x.parquet')",
        "from duckdb_secrets()",
        "select getenv('HOME')",
    ],
)
def test_nothing_else_can_be_read(run: Run, tmp_path: Path, sql: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("password\nopen sesame\n")
    places = {"secret": secret, "folder": tmp_path, "manifest": run.path / "manifest.json"}

    with Sandbox(run) as sandbox, pytest.raises(QueryError) as told:
        rows(sandbox, sql.format(**places))
    assert "sesame" not in str(told.value)


def test_the_files_of_the_run_cannot_be_overwritten(run: Run, tmp_path: Path) -> None:
    target = run.files["step"][0]
    before = target.read_bytes()

    with Sandbox(run) as sandbox:
        for options in ("(format parquet)", "(format parquet, use_tmp_file false)", "(format csv, use_tmp_file false)"):
            with pytest.raises(QueryError):
                rows(sandbox, f"copy (select 1 as a) to '{target}' {options}")
            with pytest.raises(
                Exception, match=r"(?i)permission|access|disabled"
            ):  # even without the check of statements
                locked(run, tmp_path).db.execute(f"attach '{target}.db'")
    assert target.read_bytes() == before
    assert sorted(os.listdir(target.parent)) == [target.name]


def test_variables_of_python_are_out_of_reach(run: Run) -> None:
    hidden = {"a": [1, 2, 3]}

    with Sandbox(run) as sandbox, pytest.raises(QueryError, match="hidden does not exist"):
        rows(sandbox, "from hidden")
    assert hidden["a"] == [1, 2, 3]


def test_settings_stay_as_they_are(run: Run, tmp_path: Path) -> None:
    db = locked(run, tmp_path).db
    for change in ("set enable_external_access = true", "set allowed_paths = ['/']", "set memory_limit = '1TB'"):
        with pytest.raises(Exception, match=r"(?i)locked|cannot change"):
            db.execute(change)


def test_an_endless_query_is_stopped(run: Run) -> None:
    with Sandbox(run, timeout_s=2) as sandbox:
        with pytest.raises(QueryError, match=r"stopped after 2 s"):
            rows(sandbox, "select count(*) from range(100000000000) a(i), range(1000) b(j)")
        assert rows(sandbox, "select count(*) from step") == [(2,)]


UNSTOPPABLE = "select md5(repeat('x', 1000000000))"
"""One call of a function, over half a minute long on one core of 2026."""


@pytest.mark.parametrize("written", [UNSTOPPABLE, "select md5(repeat('x', 1000000000 + step_id)) from step"])
def test_what_cannot_be_interrupted_is_stopped_and_the_next_query_answered(run: Run, written: str) -> None:
    with Sandbox(run, timeout_s=2) as sandbox:
        with pytest.raises(QueryError, match=r"stopped after 2 s"):
            rows(sandbox, written)
        assert rows(sandbox, "select count(*) from step") == [(2,)]


def test_the_time_in_which_rows_are_used_does_not_count(run: Run) -> None:
    with Sandbox(run, timeout_s=2) as sandbox, sandbox.answer("select i from range(30000) t(i)") as answer:
        taken = answer.rows()
        first = next(taken)
        time.sleep(2.5)
        assert [first, *taken] == [(at,) for at in range(30_000)]


@pytest.mark.parametrize(
    "sql",
    [
        "select length(repeat('x', 4000000000))",
        pytest.param("select list(repeat('x', 300000000)) from range(100)", marks=pytest.mark.slow),
        pytest.param(
            "select repeat('x', 1000000000), repeat('y', 1000000000), repeat('z', 1000000000)", marks=pytest.mark.slow
        ),
    ],
)
def test_values_of_any_size_take_bounded_memory(run: Run, sql: str) -> None:
    with Sandbox(run) as sandbox:
        child = sandbox._process._child.pid
        with pytest.raises(QueryError, match="the query needs more than 2GB of memory"):
            rows(sandbox, sql)
        assert sandbox._process._child.pid == child
        assert 10 << 10 < peak_kib(child) < 5 << 20
        assert rows(sandbox, "select count(*) from step") == [(2,)]


def peak_kib(process: int) -> int:
    """The largest resident memory that a process has had, while it lives."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (found,) = [line for line in lines if line.startswith("VmHWM:")]
    return int(found.split()[1])


WIDE = """
import sys
import ascend_sn
from ascend_sn.store.sandbox import Sandbox

def peak_kib():  # of this program alone; what getrusage says begins with the peak of who started it
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))

wide = "select i, repeat('x', case when i < 3000 then 1 else 100000 end) from range(5000) t(i)"  # 200 MB
with ascend_sn.open(sys.argv[1]) as run, Sandbox(run) as sandbox:
    list(map(len, run.sql("select * from step").fetchall()))
    before = peak_kib()
    with sandbox.answer(wide) as answer:
        lengths = [(at, len(text)) for at, text in answer.rows()]
print(lengths == [(at, 1 if at < 3000 else 100_000) for at in range(5000)], peak_kib() - before)
"""


def test_rows_of_any_width_take_bounded_memory_where_they_are_used(run: Run, tmp_path: Path) -> None:
    # In a process of its own: that of the tests has other work, and a peak of its own behind it.
    done = subprocess.run(
        [sys.executable, "-c", WIDE, str(tmp_path / "recording")], capture_output=True, text=True, check=False
    )

    assert done.stderr == ""
    is_whole, grown_kib = done.stdout.split()
    assert is_whole == "True"
    assert int(grown_kib) < 100 << 10


def test_a_row_that_is_too_large_is_refused_and_the_next_query_answered(run: Run) -> None:
    with Sandbox(run) as sandbox:
        with pytest.raises(QueryError, match="a row of the answer holds more than 100 MB"):
            rows(sandbox, "select repeat('x', 101000000)")
        assert rows(sandbox, "select count(*) from step") == [(2,)]


def test_a_value_that_python_cannot_hold_is_told_and_the_next_query_answered(run: Run) -> None:
    with Sandbox(run) as sandbox:
        with pytest.raises(QueryError, match=r"a value that Python cannot hold \(.*\); cast it to varchar") as told:
            rows(sandbox, "select interval '2000000000 days'")
        assert "\n" not in str(told.value)
        assert rows(sandbox, "select (interval '2000000000 days')::varchar") == [("2000000000 days",)]


def test_tables_that_cannot_be_shown_are_told(run: Run) -> None:
    run.files["step"] = [run.path / "absent.parquet"]

    with Sandbox(run) as sandbox:
        for _ in range(2):
            with pytest.raises(QueryError, match=r"the tables of the run cannot be shown: .*absent\.parquet") as told:
                rows(sandbox, "select 1")
            assert "\n" not in str(told.value)


def test_a_process_that_dies_as_it_begins_is_told_and_nothing_is_left(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "kept"))
    (tmp_path / "kept").mkdir()
    started: list[subprocess.Popen[bytes]] = []

    class Dead(subprocess.Popen[bytes]):
        def __init__(self, _words: object, **options: Any) -> None:
            super().__init__([sys.executable, "-c", ""], stdout=options["stdout"])
            started.append(self)
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)

    monkeypatch.setattr(subprocess, "Popen", Dead)
    with pytest.raises(QueryError, match="died as it began"):
        Sandbox(run)

    assert [one.returncode for one in started] == [0]
    assert list((tmp_path / "kept").iterdir()) == []


def test_what_is_written_finds_its_room_in_the_folder_of_the_sandbox(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "room").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    writer = locked(run, tmp_path / "room")._writer

    writer.execute("set memory_limit = '50MB'")
    writer.execute("create table large as select i, md5(i::varchar) as text from range(1500000) t(i)")

    assert list((tmp_path / "room").rglob("*.tmp")) != []
    assert list((tmp_path / "empty").iterdir()) == []
    assert writer.sql("select current_setting('max_temp_directory_size')").fetchall() == [("3.7 GiB",)]


def test_a_process_that_is_killed_is_told_and_the_next_query_answered(run: Run) -> None:
    with Sandbox(run) as sandbox:
        with sandbox.answer("select i from range(30000) t(i)") as answer:
            taken = answer.rows()
            next(taken)
            sandbox._process._child.kill()
            with pytest.raises(QueryError, match="died"):
                list(taken)
        assert rows(sandbox, "select count(*) from step") == [(2,)]


def test_rows_that_nobody_takes_harm_no_later_query(run: Run) -> None:
    with Sandbox(run) as sandbox:
        with sandbox.answer("select i from range(30000) t(i)") as answer:
            next(answer.rows())
        assert rows(sandbox, "select count(*) from step") == [(2,)]


def test_a_mistake_is_told_in_one_line(run: Run) -> None:
    with Sandbox(run) as sandbox, pytest.raises(QueryError) as told:
        rows(sandbox, "select nope\nfrom step")
    assert "nope" in str(told.value)
    assert "\n" not in str(told.value)


def test_nothing_is_left_behind(run: Run) -> None:
    sandbox = Sandbox(run)
    folder = Path(sandbox._folder.name)
    sandbox.close()

    assert not folder.exists()
