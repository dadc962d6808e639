"""The document of a large job, made in a process of its own and kept beside the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_sn.cli import opening
from ascend_sn.cli.document_apart import make_apart
from ascend_sn.cli.page_documents import Documents
from ascend_sn.store import Location
from ascend_sn.store.input import Input
from tests.timeline import timeline
from tests.unit.insight.drawn_runs import write_run


@pytest.fixture
def location(tmp_path: Path) -> Location:
    folder = write_run(timeline("r0 step |1111|\nr0 s1 |AA.B|"), tmp_path / "run")
    return Location(folder, Input.of(folder), is_cached=True)


def test_it_is_kept_where_the_server_finds_it(
    location: Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int, str]] = []
    before = {path.name for path in location.folder.iterdir()}

    make_apart(location, "en", None, cache_dir=tmp_path / "cache", progress=lambda *said: told.append(said))

    assert told[0][::2] == (0, "steps")
    assert [done for done, _, _ in told] == list(range(len(told)))
    (results,) = {path.name for path in location.folder.iterdir()} - before
    assert len(list((location.folder / results).glob("analyze-*.json"))) == 1
    monkeypatch.setattr(opening, "_assembled", None)  # nothing is worked out again
    document = json.loads(Documents(tmp_path / "cache").document(location, "en", None, lambda *_: None))
    assert document["steps"]["step_count"] == 1


def test_what_fails_keeps_nothing_and_tells_nothing(tmp_path: Path) -> None:
    location = Location(tmp_path / "nothing", Input.of(tmp_path / "nothing"), is_cached=True)
    told: list[str] = []

    make_apart(location, "en", None, cache_dir=tmp_path / "cache", progress=lambda *_: told.append(""))

    assert told == []
    assert not location.folder.exists()


def test_a_large_job_is_made_apart_and_a_small_one_is_not(
    location: Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    monkeypatch.setattr("ascend_sn.cli.document_apart.make_apart", lambda _where, code, *_, **_more: made.append(code))
    documents = Documents(tmp_path / "cache")

    documents.document(location, "en", None, lambda *_: None)
    assert made == []

    monkeypatch.setattr("ascend_sn.analysis.opening.LOOKED_INTO_WHOLE", 0)
    documents.document(location, "zh", None, lambda *_: None)
    assert made == ["zh"]
