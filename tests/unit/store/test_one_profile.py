"""Queries that name a profile look only into its files, and timelines are the same either way."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_sn.store.input import Input
from ascend_sn.store.run import Run
from ascend_sn.store.timeline_build import build_timeline
from tests.unit.insight.drawn_runs import write_run
from tests.unit.report.drawn import two_ranks


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(write_run(two_ranks().db, tmp_path / "run"), Input.of(tmp_path / "run"))


def test_a_large_run_shows_one_profile_of_many(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_sn.store.run.is_small", lambda rows: False)

    with run, run.only(1) as db:
        profiles = db.execute("select distinct profile_id, rank from kernel union select profile_id, rank from step")

        assert set(profiles.fetchall()) == {(1, 1)}
        assert db is not run.db


def test_the_timeline_is_the_same_either_way(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with run:
        for name in ("small", "large"):
            (tmp_path / name).mkdir()
            build_timeline(run, tmp_path / name)
            monkeypatch.setattr("ascend_sn.store.run.is_small", lambda rows: False)

    small, large = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.*")}
        for name in ("small", "large")
    )
    assert len(small) > 20
    assert small == large
