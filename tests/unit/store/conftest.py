"""A reader that counts, and a cache of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.store.drawn_reader import DrawnReader


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> DrawnReader:
    """The only reader there is while the test runs."""
    counting = DrawnReader()
    monkeypatch.setattr("ascend_sn.formats.discover.readers", lambda: (counting.reader,))
    return counting


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; the environment names it."""
    folder = tmp_path / "own-cache"
    monkeypatch.setenv("ASCEND_SN_CACHE_DIR", str(folder))
    return folder
