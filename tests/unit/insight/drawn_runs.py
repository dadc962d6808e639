"""Run folders made of drawn tables, and a client of a server over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from duckdb import DuckDBPyConnection
from starlette.testclient import TestClient

from ascend_sn.insight.app import application
from ascend_sn.insight.runs import Note, Served
from ascend_sn.model.manifest import MANIFEST_NAME, RUN_FORMAT, RUN_VERSION, Manifest, ManifestProfile
from ascend_sn.model.tables import BY_NAME
from ascend_sn.store import Location
from ascend_sn.store.input import Input

__all__ = ["NoDocuments", "as_large_jobs", "client_of", "opened_of", "write_run"]


def write_run(db: DuckDBPyConnection, folder: Path) -> Path:
    """Write the tables of a connection as a run folder."""
    profiles = db.execute("select profile_id, rank, host, pid, device_kind from profile order by 1").fetchall()
    counts: dict[int, dict[str, int]] = {}
    for profile_id, *_ in profiles:
        for name in BY_NAME:
            ((rows,),) = db.execute(f"select count(*) from {name} where profile_id = ?", [profile_id]).fetchall()
            if rows:
                place = folder / name / f"profile={profile_id}"
                place.mkdir(parents=True)
                chosen = f"select * exclude (profile_id) from {name} where profile_id = {profile_id}"
                db.execute(f"copy ({chosen}) to '{place / 'part-0.parquet'}' (format parquet)")
                counts.setdefault(profile_id, {})[name] = rows
    manifest = Manifest(
        format=RUN_FORMAT,
        version=RUN_VERSION,
        tool_version="0",
        reader_version=1,
        input="drawn",
        input_bytes=0,
        sources=msgspec.Raw(b"[]"),
        profiles=[
            ManifestProfile(
                profile_id=profile_id, rank=rank, host=host, pid=pid, start_ns=0, source=f"r{profile_id}",
                format="drawing", key=str(profile_id), tables=counts.get(profile_id, {}), device_kind=kind or "",
            )
            for profile_id, rank, host, pid, kind in profiles
        ],
        tables={name: sum(one.get(name, 0) for one in counts.values()) for name in BY_NAME},
    )  # fmt: skip
    folder.mkdir(exist_ok=True)
    (folder / MANIFEST_NAME).write_bytes(msgspec.json.encode(manifest))
    return folder


class NoDocuments:
    """Texts are their keys with what they are about; documents are not made."""

    def document(self, location: Location, code: str, job: str | None, progress: Note) -> bytes:
        return b'{"document": true}'

    def comparison(self, baseline: Input, candidate: Input, code: str) -> bytes:
        return b'{"comparison": true}'

    def history(self, place: str, code: str) -> bytes:
        return b'{"history": true}'

    def text(self, code: str, key: str, params: Mapping[str, object]) -> str:
        return " ".join([code, key, *map(str, params.values())])


def opened_of(folder: Path, cache: Path | None = None) -> Served:
    """A server's state over one run, read; without a cache of its own in that of all tests."""
    served = Served([Input.of(folder)], NoDocuments(), cache_dir=cache)
    served.runs[0].read()
    assert served.runs[0].state.state == "ready", served.runs[0].state
    return served


class ApiClient:
    """Asks for addresses below the run."""

    def __init__(self, served: Served) -> None:
        self.http = TestClient(application(served, pages=[]))

    def get(self, path: str, **parameters: Any) -> Any:
        """Return the JSON of an answer that must be fine."""
        found = self.http.get(f"/api/v1/runs/a/{path}", params=parameters)
        assert found.status_code == 200, found.text
        return found.json()

    def refused(self, path: str, **parameters: Any) -> tuple[int, str]:
        """Return status and code of an answer that must be an error."""
        found = self.http.get(f"/api/v1/runs/a/{path}", params=parameters)
        return found.status_code, found.json()["error"]["code"]


def client_of(db: DuckDBPyConnection, folder: Path) -> ApiClient:
    """A client of a server over drawn tables."""
    return ApiClient(opened_of(write_run(db, folder / "run"), folder / "cache"))


@contextmanager
def as_large_jobs(*, looked_into: int = 1) -> Iterator[None]:
    """Open runs as jobs of more ranks than are looked into whole, whatever their size; so many ranks in detail."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("ascend_sn.insight.runs", "ascend_sn.analysis.opening"):
            patch.setattr(f"{module}.LOOKED_INTO_WHOLE", 0)
        patch.setattr("ascend_sn.insight.runs.is_small", lambda _rows: False)
        patch.setattr("ascend_sn.analysis.opening.LOOKED_INTO", looked_into)
        yield
