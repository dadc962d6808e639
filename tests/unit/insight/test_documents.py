"""Documents over HTTP: made once, in the language that is asked for, and refused where there is nothing to say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from ascend_sn.insight.app import application
from ascend_sn.insight.runs import Note, Served
from ascend_sn.store import Location
from ascend_sn.store.input import Input
from tests.timeline import timeline
from tests.unit.insight.drawn_runs import NoDocuments, write_run


class Counted(NoDocuments):
    """Notes what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.while_made: Callable[[], object] = lambda: None

    def document(self, location: Location, code: str, job: str | None, progress: Note) -> bytes:
        self.asked.append((location.input.name, code))
        progress(3, 9, "memory")
        self.while_made()
        return f'{{"language": "{code}", "memory": {{"peaks": [1]}}, "steps": {{}}}}'.encode()

    def comparison(self, baseline: Input, candidate: Input, code: str) -> bytes:
        self.asked.append((baseline.name, candidate.name, code))
        return b'{"verdict": "no change"}'


@pytest.fixture
def documents() -> Counted:
    return Counted()


@pytest.fixture
def http(tmp_path: Path, documents: Counted) -> Iterator[TestClient]:
    db = timeline("r0 s1 |AA..B|")
    folders = [write_run(db, tmp_path / name) for name in ("before", "after")]
    served = Served([Input.of(folder) for folder in folders], documents, cache_dir=tmp_path / "cache")
    for run in served.runs:
        run.read()
    with TestClient(application(served, pages=[])) as client:
        yield client


def test_a_document_is_made_once_per_language(http: TestClient, documents: Counted) -> None:
    first, again = (http.get("/api/v1/runs/b/document?lang=zh").json() for _ in range(2))
    other = http.get("/api/v1/runs/b/document").json()

    assert [found["language"] for found in (first, again, other)] == ["zh", "zh", "en"]
    assert documents.asked == [("after", "zh"), ("after", "en")]


def test_a_page_gets_the_parts_that_it_asks_for(http: TestClient, documents: Counted) -> None:
    whole = http.get("/api/v1/runs/b/document").json()
    some = http.get("/api/v1/runs/b/document?parts=steps,memory").json()

    assert list(whole) == ["language", "memory", "steps"]
    assert some == {"steps": {}, "memory": {"peaks": [1]}}
    assert len(documents.asked) == 1


def test_while_a_document_is_made_its_progress_is_told(http: TestClient, documents: Counted) -> None:
    told = []
    address = "/api/v1/runs/b/document-progress"
    documents.while_made = lambda: told.append(http.get(address).json())

    before = http.get(address).json()
    http.get("/api/v1/runs/b/document?parts=steps")
    after, other = http.get(address).json(), http.get(f"{address}?lang=zh").json()

    assert told == [{"state": "making", "done": 3, "total": 9, "part": "memory"}]
    assert [one["state"] for one in (before, after, other)] == ["absent", "made", "absent"]


def test_two_runs_are_compared_in_the_order_that_is_asked_for(http: TestClient, documents: Counted) -> None:
    http.get("/api/v1/comparison?base=b&candidate=a")

    assert documents.asked == [("after", "before", "en")]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("comparison?base=a&candidate=a", 400, "bad_parameter"),
        ("comparison?base=a", 400, "missing_parameter"),
        ("comparison?base=a&candidate=z", 404, "no_run"),
        ("runs/z/document", 404, "no_run"),
        ("runs/a/document?lang=fr", 400, "bad_parameter"),
        ("runs/a/document?parts=nothing", 400, "bad_parameter"),
        ("history", 404, "no_history"),
        ("runs/a/tables/nothing", 404, "unknown_name"),
        ("runs/a/tables/kernels?sort=nothing", 404, "unknown_name"),
        ("runs/a/tables/kernels?from=x", 400, "bad_request"),
        ("runs/a/memory-curve?from_ns=x", 400, "bad_request"),
    ],
)
def test_what_has_no_answer_says_why(http: TestClient, path: str, status: int, code: str) -> None:
    reply = http.get(f"/api/v1/{path}")

    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)


def test_the_session_says_whether_there_is_a_history(http: TestClient) -> None:
    assert http.get("/api/v1/session").json()["history"] is False
