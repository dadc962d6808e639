"""The history on both of its databases: an SQLite file, and a PostgreSQL server that the test starts."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from sqlalchemy import create_engine, text

from ascend_sn.compare.figures import RunFigures
from ascend_sn.compare.history.store import History
from ascend_sn.errors import HistoryError, HistoryVersionError
from tests.integration.postgres_server import PASSWORD, Server, programs, runner, server
from tests.unit.cli.conftest import run as command
from tests.unit.compare.made import run_of, work
from tests.unit.compare.recorded import recorded, steady

SERIES = "model"
needs_server = pytest.mark.skipif(
    programs() is None or runner() == "", reason="the PostgreSQL server is not installed: apt-get install postgresql"
)

WRITER = """
import sys
from ascend_sn.compare.history.store import History
from tests.unit.compare.made import run_of

place, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with History(place) as history:
    for number in range(first, first + count):
        history.add(run_of([1000 + number] * 6), series="model", now_ns=number)
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with server() as running:
        yield running


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=needs_server)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a history that is not there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "new" / "history.db")
    running: Server = request.getfixturevalue("postgres")
    name = f"test_{abs(hash(str(tmp_path)))}"
    engine = create_engine(
        running.url().replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.execute(text(f"create database {name}"))
    engine.dispose()
    return running.url(name)


def run(step_ns: int, **more: Any) -> RunFigures:
    return run_of([step_ns] * 6, work("MatMul", 6, 3 * step_ns), **more)


def test_what_is_recorded_comes_back_whole(place: str) -> None:
    figures = run(1000, name="result/ ' \" ; drop table 模型", groups=["dp 8 x 1"], ranks=[0])
    with History(place) as history:
        added = history.add(figures, series=SERIES, now_ns=2**62, revision="abc", branch="main", note="first")

    with History(place) as history:
        (record,) = history.records(SERIES)
        (again,) = history.figures([record])
        assert record == added.record == history.record(record.id)

    assert added.is_new
    assert (record.recorded_ns, record.revision, record.branch, record.note) == (2**62, "abc", "main", "first")
    assert record.values["step_time"] == 1000
    assert (record.setup, record.label) == ("npu x 1 (dp 8 x 1)", f"#{record.id} abc")
    assert again.steps == figures.steps
    assert again.work == figures.work


def test_a_capture_is_kept_once_whatever_it_is_called(place: str) -> None:
    with History(place) as history:
        first = history.add(run(1000, name="a"), series=SERIES, now_ns=1, verdict="failed", revision="abc")
        second = history.add(run(1000, name="b"), series=SERIES, now_ns=2, note="accepted")
        elsewhere = history.add(run(1000), series="other", now_ns=3)

    assert (first.is_new, second.is_new, elsewhere.is_new) == (True, False, True)
    assert second.record.id == first.record.id
    assert (second.record.verdict, second.record.revision, second.record.note) == (None, "abc", "accepted")


def test_runs_are_listed_by_series_and_pinned_ones_are_not_pruned(place: str) -> None:
    with History(place) as history:
        ids = [history.add(run(1000 + at), series=SERIES, now_ns=at).record.id for at in range(6)]
        history.add(run(1), series="other", now_ns=0)
        history.pin([ids[0]], pinned=True)

        removed = history.prune(SERIES, keep=2)
        left = [one.id for one in history.records(SERIES)]
        newest = [one.id for one in history.records(newest=1)]

        assert removed == 3
        assert left == [ids[0], ids[4], ids[5]]
        assert newest == [ids[5] + 1]
        assert history.series() == [SERIES, "other"]
        assert history.prune(None, before_ns=5) == 2  # 4 of the series, and the other one
        assert [one.id for one in history.records()] == [ids[0], ids[5]]
        history.pin([ids[0]], pinned=False)
        assert history.prune(None, keep=1, before_ns=10) == 1


def test_pinning_what_is_not_there_pins_nothing(place: str) -> None:
    with History(place) as history:
        number = history.add(run(1000), series=SERIES, now_ns=1).record.id

        with pytest.raises(HistoryError, match="no run #999"):
            history.pin([number, 999], pinned=True)

        assert not history.record(number).pinned


def test_a_number_is_not_given_twice(place: str) -> None:
    with History(place) as history:
        first = history.add(run(1000), series=SERIES, now_ns=1).record.id
        history.prune(SERIES, keep=0)
        second = history.add(run(1000), series=SERIES, now_ns=1).record.id

    assert second > first


def test_two_writers_at_once_lose_nothing(place: str) -> None:
    # Half of what they record is the same: each capture is kept once.
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, place, str(first), "20"]) for first in (0, 10)]
    codes = [writer.wait(timeout=300) for writer in writers]

    with History(place) as history:
        steps = sorted(one.values["step_time"] for one in history.records(SERIES))

    assert codes == [0, 0]
    assert steps == [1000 + number for number in range(30)]


def test_a_newer_history_is_refused_by_name(place: str) -> None:
    with History(place) as history:
        history.add(run(1000), series=SERIES, now_ns=1)
    engine = create_engine(
        place.replace("postgresql://", "postgresql+psycopg://") if "://" in place else f"sqlite:///{place}"
    )
    with engine.begin() as connection:
        connection.execute(text("update ascend_sn_history set version = 99"))
    engine.dispose()

    with History(place) as history:
        for use in (lambda: history.records(), lambda: history.add(run(1), series=SERIES, now_ns=1)):
            with pytest.raises(HistoryVersionError, match="version 99 is newer"):
                use()


@needs_server
def test_a_password_is_never_said(postgres: Server) -> None:
    with History(postgres.url(password="wrong-and-secret")) as history:
        with pytest.raises(HistoryError) as caught:
            history.records()

        assert "password authentication failed" in str(caught.value)
        assert "wrong-and-secret" not in f"{caught.value!r} {history.where}"


def test_the_commands_work_and_say_no_password(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, product in (("base", 1000), ("slow", 1500)):
        recorded(tmp_path / name, steady(product))
    words = ("--history", place, "--series", "model")

    begun = command(capsys, "gate", tmp_path / "base", *words, "--record")
    failed = command(capsys, "gate", tmp_path / "slow", *words, "--record", "--lang", "en", "--format", "json")
    listed = command(capsys, "history", "list", *words)
    trend = command(capsys, "history", "trend", *words)

    assert [code for code, _, _ in (begun, failed, listed, trend)] == [0, 1, 0, 0]
    where = json.loads(failed[1])["history"]["where"]
    assert unquote(where) == place.replace(f":{PASSWORD}@", ":***@")
    assert PASSWORD not in "".join(out + err for _, out, err in (begun, failed, listed, trend))


@needs_server
def test_an_empty_database_of_a_server_says_how_to_begin(place: str) -> None:
    with History(place) as history, pytest.raises(HistoryError, match="history record RUN"):
        history.records()


def test_a_file_that_is_no_database_is_said(tmp_path: Path) -> None:
    file = tmp_path / "history.db"
    file.write_bytes(b"not a database, and long enough to be looked at" * 50)

    with History(str(file)) as history, pytest.raises(HistoryError, match="not a database"):
        history.records()


def test_damaged_figures_are_said(tmp_path: Path) -> None:
    file = tmp_path / "history.db"
    with History(str(file)) as history:
        record = history.add(run(1000), series=SERIES, now_ns=1).record
        with sqlite3.connect(file) as raw:
            raw.execute("update ascend_sn_run set figures = x'00ff'")
        raw.close()

        with pytest.raises(HistoryError, match="#1 is damaged"):
            history.figures([record])
