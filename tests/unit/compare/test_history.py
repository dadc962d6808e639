"""What the history says and chooses: lasting changes, baselines, settings, versions of its tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sqlalchemy import Column, Connection, MetaData, String, Table, create_engine, inspect, text

from ascend_sn.compare.history.baseline import HistorySettings, baseline_of
from ascend_sn.compare.history.database import Database
from ascend_sn.compare.history.level_changes import level_changes
from ascend_sn.compare.history.record import figures_from, identity_of, packed
from ascend_sn.compare.history.schema import MIGRATIONS, RUN, VALUE, upgrade, version_of
from ascend_sn.compare.history.store import History
from ascend_sn.errors import HistoryError, HistoryVersionError, NoBaselineError, UnknownNameError, UsageError
from tests.unit.compare.made import run_of

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "history" / "v1.db"


def noisy(*levels: tuple[float, int], seed: int = 1, variation: float = 0.02) -> list[float]:
    """Runs at some levels: (level, how many)."""
    generator = np.random.default_rng(seed)
    runs: list[float] = []
    for level, count in levels:
        runs += (level * np.exp(variation * generator.standard_normal(count))).tolist()
    return runs


def fill(history: History, steps: list[int], **more: Any) -> list[int]:
    return [history.add(run_of([step] * 6, **more), series="s", now_ns=at).record.id for at, step in enumerate(steps)]


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(str(tmp_path / "history.db"))


def test_fewer_than_fifteen_runs_tell_no_change_from_chance() -> None:
    assert level_changes([100.0] * 7 + [200.0] * 7) == []
    assert [one.place for one in level_changes([100.0 + at for at in range(8)] + [200.0 + at for at in range(7)])] == [
        8
    ]


def test_changes_are_found_in_long_series_where_they_are() -> None:
    found = level_changes(noisy((100, 60), (110, 60), (90, 30)))

    assert [one.place for one in found] == [pytest.approx(60, abs=1), pytest.approx(120, abs=1)]
    assert [round(one.after / one.before, 1) for one in found] == [1.1, 0.8]


def test_a_steady_series_has_none_and_an_outlier_is_none() -> None:
    alarms = sum(bool(level_changes(noisy((100, 50), seed=seed, variation=0.05))) for seed in range(100))
    outlier = noisy((100, 40))
    outlier[20] = 300.0

    assert alarms <= 2
    assert level_changes(outlier) == []


def test_a_change_that_is_too_small_to_matter_is_left_out() -> None:
    series = noisy((100, 30), (102, 30), variation=0.001)

    assert level_changes(series) == []
    assert [one.place for one in level_changes(series, change_at_least=0.01)] == [30]


@given(st.lists(st.floats(1, 1e12), max_size=60))
def test_changes_lie_inside_and_in_order(values: list[float]) -> None:
    places = [one.place for one in level_changes(values)]

    assert places == sorted(set(places))
    assert all(5 <= place <= len(values) - 5 for place in places)


def test_the_newest_runs_are_the_baseline_without_what_failed_and_without_the_candidate(history: History) -> None:
    with history:
        ids = fill(history, list(range(1000, 1012)))
        candidate = run_of([1011] * 6)
        history.add(run_of([1010] * 6), series="s", now_ns=50, verdict="failed")

        baseline, figures = baseline_of(history, [candidate], series="s", runs=4)

    assert baseline.chosen_by == "newest"
    assert [one.id for one in baseline.runs] == [ids[6], ids[7], ids[8], ids[9]]
    assert [run.median_step_ns for run in figures] == [1006, 1007, 1008, 1009]
    assert figures[0].name == baseline.runs[0].label


def test_pinned_runs_go_before_newer_ones(history: History) -> None:
    with history:
        ids = fill(history, [1000, 1001, 1002, 1003])
        history.pin([ids[0], ids[2]], pinned=True)

        baseline, _ = baseline_of(history, [run_of([5000] * 6)], series="s", runs=1)

    assert (baseline.chosen_by, [one.id for one in baseline.runs]) == ("pinned", [ids[0], ids[2]])


def test_the_baseline_begins_at_the_last_lasting_change(history: History) -> None:
    with history:
        ids = fill(history, [round(1000 * one) for one in noisy((1.0, 20), (0.7, 6))])

        baseline, _ = baseline_of(history, [run_of([5000] * 6)], series="s", runs=10)

    assert (baseline.chosen_by, [one.id for one in baseline.runs]) == ("level", ids[20:])


def test_only_runs_of_the_candidates_setup_are_looked_at(history: History) -> None:
    with history:
        ids = fill(history, [1000, 1001])
        fill(history, [2000, 2001], device_names=["Ascend 910B"])

        baseline, _ = baseline_of(history, [run_of([1100] * 6)], series="s", runs=10)
        other, _ = baseline_of(history, [run_of([1100] * 6, world_size=8)], series="s", runs=10)

    assert [one.id for one in baseline.runs] == ids
    # None is alike: the newest setup, and the gate says what differs.
    assert {one.setup for one in other.runs} == {"Ascend 910B x 1"}


def test_an_empty_series_names_the_others(history: History) -> None:
    with history:
        fill(history, [1000])

        with pytest.raises(NoBaselineError, match=r"'other'; known series: s"):
            baseline_of(history, [run_of([1] * 6)], series="other", runs=10)


def test_the_same_capture_has_the_same_identity_under_another_name_and_version() -> None:
    one, other = run_of([1000] * 6, name="a"), run_of([1000] * 6, name="b", tool_version="9")

    assert identity_of(one) == identity_of(other) != identity_of(run_of([1001] * 6))


def test_damaged_and_newer_figures_are_none() -> None:
    data = packed(run_of([1000] * 6))

    assert figures_from(data, 1, "x") is not None
    assert figures_from(data[:-9], 1, "x") is None
    assert figures_from(b"\x00", 1, "x") is None
    assert figures_from(data, 99, "x") is None


def test_settings_come_from_the_command_line_then_the_environment_then_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ascend-sn.toml").write_text(
        '[history]\nurl = "postgresql://ci:${DB_PASSWORD}@host/perf"\nseries = "model"\nruns = 5\n'
    )
    monkeypatch.setenv("DB_PASSWORD", "pa55")

    of_file = HistorySettings.in_force(tmp_path)
    monkeypatch.setenv("ASCEND_SN_HISTORY", "env.db")
    of_environment = HistorySettings.in_force(tmp_path)
    of_words = HistorySettings.in_force(tmp_path, place="cli.db", series="x", runs=3)
    monkeypatch.delenv("ASCEND_SN_HISTORY")
    of_nothing = HistorySettings.in_force(tmp_path / "elsewhere")

    assert of_file == HistorySettings("postgresql://ci:pa55@host/perf", True, "model", 5)
    assert (of_environment.place, of_environment.series) == ("env.db", "model")
    assert of_words == HistorySettings("cli.db", True, "x", 3)
    assert (of_nothing.is_named, of_nothing.series, of_nothing.runs) == (False, "default", 20)
    assert of_nothing.place.endswith("ascend-sn/history.db")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[history]\nulr = 'x'", UnknownNameError),
        ("[history]\nruns = 'ten'", UsageError),
        ("[history]\nruns = 0", UsageError),
        ("[history]\nurl = 3", UsageError),
        ("[history]\nurl = '${NOT_SET_ANYWHERE}'", UsageError),
        ("history = 1", UsageError),
    ],
)
def test_wrong_settings_are_told(tmp_path: Path, text: str, error: type[Exception]) -> None:
    (tmp_path / "ascend-sn.toml").write_text(text)

    with pytest.raises(error):
        HistorySettings.in_force(tmp_path)


@pytest.mark.parametrize("place", ["mysql://u:hidden@h/d", "://", "sqlite://", "oracle+x://u:hidden@h"])
def test_another_kind_of_database_is_refused_without_its_password(place: str) -> None:
    with pytest.raises(UsageError) as caught:
        Database(place)

    assert "hidden" not in str(caught.value)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with History(str(tmp_path / "file" / "h.db")) as history, pytest.raises(HistoryError, match="cannot be written"):
        history.add(run_of([1] * 6), series="s", now_ns=1)


def test_the_first_version_is_read_for_ever(tmp_path: Path) -> None:
    copy = tmp_path / "old.db"
    copy.write_bytes(GOLDEN.read_bytes())

    with History(str(copy)) as history:
        records = history.records()
        figures = history.figures(records)

    # As they were written: steps of 1,000 and 1,500 ns, the second one failed and is pinned.
    assert [(one.id, one.series, one.revision, one.verdict, one.pinned) for one in records] == [
        (1, "model", "abc", None, False),
        (2, "model", "def", "failed", True),
    ]
    assert [run.median_step_ns for run in figures] == [1000, 1500]
    assert figures[0].work[0].op == "MatMul"


def test_the_tables_that_are_made_are_those_that_are_used() -> None:
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        upgrade(connection, "x")
        made = inspect(connection)
        for table in (RUN, VALUE):
            assert [one["name"] for one in made.get_columns(table.name)] == [column.name for column in table.columns]
        assert version_of(connection) == len(MIGRATIONS)
    engine.dispose()


def test_an_older_history_becomes_one_of_this_version_and_keeps_its_runs(tmp_path: Path) -> None:
    def add_host(connection: Connection) -> None:
        connection.execute(text("alter table ascend_sn_run add column host text"))

    copy = tmp_path / "old.db"
    copy.write_bytes(GOLDEN.read_bytes())
    engine = create_engine(f"sqlite:///{copy}")
    with engine.begin() as connection:
        upgrade(connection, "x", (*MIGRATIONS, add_host))
    with engine.begin() as connection:
        upgrade(connection, "x", (*MIGRATIONS, add_host))  # nothing is left to do
        table = Table("ascend_sn_run", MetaData(), Column("host", String), Column("revision", String))
        rows = connection.execute(table.select().order_by(table.c.revision)).all()
        version = version_of(connection)

        with pytest.raises(HistoryVersionError, match=r"version 2 is newer than this ascend-sn reads \(1\)"):
            upgrade(connection, "x")
    engine.dispose()

    assert [tuple(row) for row in rows] == [(None, "abc"), (None, "def")]
    assert version == 2


def test_a_migration_that_fails_leaves_the_tables_as_they_were(tmp_path: Path) -> None:
    def half(connection: Connection) -> None:
        connection.execute(text("alter table ascend_sn_run add column host text"))
        raise RuntimeError("power cut")

    copy = tmp_path / "old.db"
    copy.write_bytes(GOLDEN.read_bytes())
    database = Database(str(copy))
    with pytest.raises(RuntimeError, match="power cut"), database.writing() as connection:
        upgrade(connection, "x", (*MIGRATIONS, half))
    with database.reading() as connection:
        columns = [one["name"] for one in inspect(connection).get_columns("ascend_sn_run")]
    database.close()

    assert "host" not in columns
