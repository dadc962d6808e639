"""`view --redact`: nothing that the page is told names a person, a host or a place."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from ascend_sn.cli import main as cli
from ascend_sn.insight.app import API, api_routes
from ascend_sn.insight.runs import Served
from ascend_sn.insight.tables import PAGE_TABLES
from ascend_sn.store.input import Input
from tests.integration.test_redaction import hostile_trace, leaks
from tests.integration.viewed import Viewed
from tests.unit.insight.drawn_runs import NoDocuments

_RUN_PLACES = (
    "tracks", "names?chunk=0", "steps", "viewport?q=0:0:1000000:", "find?table=operator&profile=0&key={key}",
    "slice?profile=0&track={track}&depth={depth}&slice=1", "search?text=mm", "search?text=user-",
    "search?text=train&where=arguments", "search?text=path&where=arguments", "selection?q=0:0:1000000:",
    "alignment?by=none", "marks", "document", "document?lang=zh", "memory-curve?profile=0&component=cpu",
    "memory-moment?profile=0", "static-memory-curve?profile=0&device=host&model=net&graph_id=1",
    "memory-parts?profile=0&family=module", "call-paths", "call-paths?format=csv", "profiles", "document-progress",
    *(f"tables/{table.name}" for table in PAGE_TABLES),
    *(f"tables/{table.name}?format=csv" for table in PAGE_TABLES),
)  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASCEND_SN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return tmp_path / "home" / "lihua" / "acmeproj"


@pytest.fixture
def viewed(place: Path) -> Iterator[Viewed]:
    """Both runs with a history of the first, under a folder that names a user and a project."""
    runs = [hostile_trace(place / "SecretRun7"), hostile_trace(place / "SecretRun7-slower", slow=4)]
    history = place / "perf.db"
    with pytest.raises(SystemExit):
        cli.main(["history", "record", str(runs[0]), "--history", str(history), "--note", "by lihua on gpu-n17"])
    server = Viewed(*runs, "--redact", "--history", history)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


def test_no_answer_names_the_place_a_user_or_a_host(viewed: Viewed, place: Path) -> None:
    runs = viewed.runs()
    asked = ["/session", "/comparison?base=a&candidate=b", "/kernel_changes?base=a&candidate=b"]
    asked += ["/call-path-changes?base=a&candidate=b", "/fused-changes?base=a&candidate=b", "/history"]
    for run in runs:
        (hit,) = _json(viewed, f"/runs/{run['id']}/search?text=MatMul_user-&limit=1")["hits"]
        key = _json(viewed, f"/runs/{run['id']}/slice?profile=0&track={hit['track']}&depth={hit['depth']}&slice=0")
        filled = {"track": hit["track"], "depth": hit["depth"], "key": quote(str(key["key"]))}
        asked += [f"/runs/{run['id']}/{one.format(**filled)}" for one in _RUN_PLACES]

    told = {address: viewed.get(API + address) for address in asked}

    assert [run["name"] for run in runs] == ["run-1", "run-2"]
    refused = [(address, content) for address, (status, content) in told.items() if status not in (200, 404)]
    assert refused == []
    secrets = [address for address, (_, content) in told.items() if leaks(content.decode("latin-1"))]
    assert secrets == []
    assert [address for address, (_, content) in told.items() if str(place).encode() in content] == []
    assert re.search(rb"MatMul_user-\d+_host-\d+", told["/runs/a/names?chunk=0"][1])
    assert {_pattern(address) for address in asked} == {
        route.path for route in api_routes(Served([Input.of("run")], NoDocuments())) if "GET" in (route.methods or ())
    }


def test_the_same_thing_has_one_stand_in_on_all_pages(viewed: Viewed) -> None:
    viewed.runs()

    names = {run: set(_json(viewed, f"/runs/{run}/names?chunk=0")) for run in "ab"}
    document = _json(viewed, "/runs/a/document")
    comparison = json.dumps(_json(viewed, "/comparison?base=a&candidate=b"))
    (operator,) = [name for name in names["a"] if name.startswith("MatMul_")]

    assert names["a"] == names["b"]
    assert {row["name"] for row in document["operators"]["operators"]} <= names["a"]
    assert f'"{operator}"' in comparison


def test_figures_stay(viewed: Viewed, place: Path) -> None:
    viewed.runs()
    done = subprocess.run(
        [sys.executable, "-m", "ascend_sn.cli.main", "analyze", str(place / "SecretRun7"), "--format", "json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert _json(viewed, "/runs/a/document")["breakdown"] == json.loads(done.stdout)["breakdown"]


def test_the_copies_are_kept_in_the_cache_and_shown_again(place: Path, tmp_path: Path) -> None:
    runs = [hostile_trace(place / "SecretRun7"), hostile_trace(place / "SecretRun7-slower", slow=4)]
    told, kept = [], []
    for _ in range(2):
        server = Viewed(*runs, "--redact")
        try:
            server.runs()
            told.append(
                [_json(server, f"/runs/{run}/{what}") for run in "ab" for what in ("names?chunk=0", "document")]
            )
            server.interrupted()
        finally:
            server.process.kill()
            server.process.communicate()
        copies = (path for path in (tmp_path / "cache" / "redacted").iterdir() if path.is_dir())
        kept.append({(path.name, path.stat().st_ino) for path in copies})

    assert len(kept[0]) == 2
    assert kept[1] == kept[0]
    assert told[1] == told[0]
    assert list((tmp_path / "temporary").glob("ascend-sn-redacted-*")) == []


def test_why_a_run_cannot_be_shown_names_no_place(place: Path) -> None:
    good = hostile_trace(place / "SecretRun7")
    (place / "broken.json").write_text("nothing of a trace")
    server = Viewed(good, place / "broken.json", "--redact")
    try:
        broken = server.runs()[1]
    finally:
        server.process.kill()
        server.process.communicate()

    assert broken["state"] == "failed"
    assert "not a profile" in broken["error"]
    assert leaks(json.dumps(broken)) == []


def test_a_history_that_cannot_be_read_is_said_in_one_line_and_the_page_is_served(place: Path) -> None:
    run = hostile_trace(place / "SecretRun7")
    (place / "bad.db").write_bytes(b"this is no database, only some text that is long enough to be looked at" * 20)
    server = Viewed(run, "--history", place / "bad.db")
    try:
        (state,) = server.runs()
        status, content = server.get(f"{API}/history")
        document, _ = server.get(f"{API}/runs/a/document")
        _, said = server.interrupted()
    finally:
        server.process.kill()

    lines = [line for line in said.splitlines() if "--history" in line]
    assert (state["state"], status, document) == ("ready", 422, 200)
    assert "bad.db" in json.loads(content)["error"]["message"]
    assert len(lines) == 1
    assert lines[0].startswith("ascend-sn: --history: ")
    assert "Traceback" not in said


def _json(viewed: Viewed, address: str) -> Any:
    status, content = viewed.get(API + address)
    assert status == 200, (address, content)
    return json.loads(content)


def _pattern(address: str) -> str:
    parts = address.partition("?")[0].split("/")
    if parts[1] == "runs":
        parts[2] = "{run}"
        if parts[3] == "tables":
            parts[4] = "{name}"
    return "/".join(parts)
