"""Damage of what is kept: results, timelines, the history, the settings; and words that no encoding holds."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from ascend_sn.advisor.thresholds import Thresholds
from ascend_sn.compare.history.store import History
from ascend_sn.compare.notify import NotifySettings
from ascend_sn.compare.settings import GateSettings
from ascend_sn.errors import HistoryError, StoreError, UsageError
from ascend_sn.store import Run, locate
from ascend_sn.store.timeline import timeline_of
from tests.integration.test_fault_store import TRACE, ascend_sn, change_bit, command
from tests.unit.compare.made import run_of


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "trace.json"
    path.parent.mkdir()
    path.write_text(json.dumps(TRACE))
    return path


def test_a_changed_digit_of_a_kept_result_is_noticed_and_the_result_worked_out_anew(
    trace: Path, tmp_path: Path
) -> None:
    words = ("analyze", trace, "--format", "json", "--cache-dir", tmp_path / "cache")
    sound = json.loads(ascend_sn(*words).stdout)
    (kept,) = (tmp_path / "cache").glob("runs/*/results/analyze-*.json")
    content = kept.read_bytes()
    assert b'"operator_count":7' in content
    kept.write_bytes(content.replace(b'"operator_count":7', b'"operator_count":6'))

    shown = json.loads(ascend_sn(*words).stdout)

    assert shown == sound
    assert shown["operators"]["operator_count"] == 7


def test_a_changed_bit_of_a_timeline_is_named(trace: Path, tmp_path: Path) -> None:
    location = locate(trace, cache_dir=tmp_path / "cache")
    with Run(location.folder, location.input) as run:
        whole = timeline_of(run, location)
        profile = next(iter(whole.profiles))
        places = [whole.folder / f"profile={profile}" / name for name in ("start.bin", "busy.bin", "name.bin")]
        assert len(whole.arrays(profile).name) > 0
        for path in places:
            content = path.read_bytes()
            change_bit(path, content, len(content) // 2)

            with pytest.raises(StoreError, match="the timeline is damaged") as told:
                timeline_of(run, location).arrays(profile)
            path.write_bytes(content)
            assert told.value.path == path


def test_a_damaged_value_of_a_run_in_the_history_is_named(tmp_path: Path) -> None:
    place = tmp_path / "history.db"
    with History(str(place)) as history:
        history.add(run_of([100, 100]), series="nightly", now_ns=1_000)
    for column in ("pinned", "recorded_ns", "figures_version", "series"):
        with closing(sqlite3.connect(place)) as connection, connection:
            ((kept,),) = connection.execute(f"select {column} from ascend_sn_run").fetchall()
            connection.execute(f"update ascend_sn_run set {column} = ?", (b"x7",))

        with History(str(place)) as history, pytest.raises(HistoryError, match="run #1 is damaged"):
            history.figures(history.records())
        with closing(sqlite3.connect(place)) as connection, connection:
            connection.execute(f"update ascend_sn_run set {column} = ?", (kept,))


def test_a_history_that_works_out_values_of_any_length_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "history.db"
    with History(str(place)) as history:
        history.add(run_of([100, 100]), series="nightly", now_ns=1_000)
    with closing(sqlite3.connect(place)) as connection, connection:
        columns = [row[1] for row in connection.execute("pragma table_info(ascend_sn_run)") if row[1] != "note"]
        listed = ", ".join(columns)
        connection.execute("alter table ascend_sn_run rename to kept")
        connection.execute(f"create table ascend_sn_run ({listed}, note as (hex(zeroblob(300000000))))")
        connection.execute(f"insert into ascend_sn_run ({listed}) select {listed} from kept")

    with History(str(place)) as history, pytest.raises(HistoryError, match="too big"):
        history.records()


@pytest.mark.parametrize("what", ["pipe", "folder", "link to nothing", "loop"])
def test_settings_that_are_no_file_are_refused(tmp_path: Path, what: str) -> None:
    path = tmp_path / "ascend-sn.toml"
    match what:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "link to nothing":
            path.symlink_to("nowhere")
        case _:
            path.symlink_to(path.name)

    for in_force in (GateSettings.in_force, NotifySettings.in_force, Thresholds.in_force):
        with pytest.raises(UsageError, match="no file"):
            in_force(tmp_path)


def test_settings_that_are_nested_too_deep_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ascend-sn.toml").write_text(f"[gate]\nmetrics = {'[' * 5_000}{']' * 5_000}\n")

    with pytest.raises(UsageError, match="nested too deeply"):
        GateSettings.in_force(tmp_path)


def test_a_query_that_is_no_text_is_refused(trace: Path, tmp_path: Path) -> None:
    words = [*map(os.fsencode, command("query", trace)), b"select '\xff'", b"--cache-dir", os.fsencode(tmp_path / "c")]

    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == ["ascend-sn: the query holds bytes that are no UTF-8"]
