"""Every test of comparing runs in a folder of its own, in English; small recordings to compare."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.compare.recorded import recorded, steady


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("cwd"))
    monkeypatch.setenv("ASCEND_SN_LANG", "en")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`base`, `same` (other noise), and `slow`, whose product takes a half longer."""
    folder = tmp_path_factory.mktemp("runs")
    recorded(folder / "base", steady(1000, seed=1))
    recorded(folder / "same", steady(1000, seed=2))
    recorded(folder / "slow", steady(1500, seed=3))
    return folder
