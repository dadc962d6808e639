"""SQL that is not trusted sees the tables of one run and nothing else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import ascend_sn
from ascend_sn.errors import QueryError
from ascend_sn.store.run import Run
from ascend_sn.store.sandbox import Sandbox

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


def test_the_files_of_the_run_cannot_be_overwritten(run: Run) -> None:
    target = run.files["step"][0]
    before = target.read_bytes()

    with Sandbox(run) as sandbox:
        for options in ("(format parquet)", "(format parquet, use_tmp_file false)", "(format csv, use_tmp_file false)"):
            with pytest.raises(QueryError):
                rows(sandbox, f"copy (select 1 as a) to '{target}' {options}")
            with pytest.raises(
                Exception, match=r"(?i)permission|access|disabled"
            ):  # even without the check of statements
                sandbox._db.execute(f"attach '{target}.db'")
    assert target.read_bytes() == before
    assert sorted(os.listdir(target.parent)) == [target.name]


def test_variables_of_python_are_out_of_reach(run: Run) -> None:
    hidden = {"a": [1, 2, 3]}

    with Sandbox(run) as sandbox, pytest.raises(QueryError, match="hidden does not exist"):
        rows(sandbox, "from hidden")
    assert hidden["a"] == [1, 2, 3]


def test_settings_stay_as_they_are(run: Run) -> None:
    with Sandbox(run) as sandbox:
        for change in ("set enable_external_access = true", "set allowed_paths = ['/']", "set memory_limit = '1TB'"):
            with pytest.raises(Exception, match=r"(?i)locked|cannot change"):
                sandbox._db.execute(change)


def test_an_endless_query_is_stopped(run: Run) -> None:
    with Sandbox(run, timeout_s=0.2) as sandbox:
        with pytest.raises(QueryError, match=r"stopped after 0\.2 s"):
            rows(sandbox, "select count(*) from range(100000000000) a(i), range(1000) b(j)")
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
