"""Marks that a reader sets on the timeline: kept in the cache for the input they belong to, never in the input."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from pathlib import Path
from typing import Annotated, Final

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ascend_sn.errors import StoreError
from ascend_sn.insight.answers import ApiError, answer
from ascend_sn.insight.runs import OpenRun, Served
from ascend_sn.store.environment import cache_folder
from ascend_sn.store.sealed import BrokenSealError, decoded, write_sealed

__all__ = ["Mark", "mark_routes"]

_AT_MOST: Final = 2_000
_FAR: Final = 1 << 62

Moment = Annotated[float, msgspec.Meta(ge=-_FAR, le=_FAR)]
Text = Annotated[str, msgspec.Meta(max_length=200)]


class Mark(msgspec.Struct, frozen=True, rename={"start": "from", "end": "to"}):
    """A moment or a range of the common axis, in ns; `to` is null for a moment."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    start: Moment
    end: Moment | None
    name: Text
    colour: Annotated[str, msgspec.Meta(pattern="^#[0-9a-fA-F]{6}$")]


def mark_routes(served: Served) -> list[Route]:
    """Return the routes of the marks."""
    writing = threading.Lock()

    def marks(request: Request) -> Response:
        """The marks of a run."""
        return answer(_read(_file(served, served.opened(request.path_params["run"]))))

    async def replace_marks(request: Request) -> Response:
        """Replace the marks of a run: a list of at most 2,000, 1 MB of JSON in all.

        Each has `id` (a text of its own, 64 characters at most), `from` and `to` (ns on the common axis, `to` null for
        a moment), `name` (200 characters at most) and `colour` (such as `#0072b2`).
        """
        if not request.headers.get("content-type", "").startswith("application/json"):
            raise ApiError(415, "no_json", "marks are sent as application/json")
        path = _file(served, served.opened(request.path_params["run"]))
        try:
            given = msgspec.json.decode(await request.body(), type=list[Mark])
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ApiError(400, "bad_marks", f"these are no marks: {error}") from error
        if len(given) > _AT_MOST:
            raise ApiError(400, "bad_marks", f"at most {_AT_MOST} marks are kept")
        if len({mark.id for mark in given}) < len(given):
            raise ApiError(400, "bad_marks", "two marks have one id")
        if any(mark.end is not None and mark.end < mark.start for mark in given):
            raise ApiError(400, "bad_marks", "a mark ends before it begins")

        def write() -> None:
            with writing:
                _write(path, given)

        await run_in_threadpool(write)
        return answer(given)

    return [
        Route("/runs/{run}/marks", marks, methods=["GET"]),
        Route("/runs/{run}/marks", replace_marks, methods=["PUT"]),
    ]


def _file(served: Served, opened: OpenRun) -> Path:
    """Where the marks of an input are kept: by its place, so that they outlive changes of its content.

    Names that a reader gave may say who and where: a page with stand-ins has marks of its own.
    """
    places = "\0".join(os.path.realpath(path) for path in opened.input.paths)
    if served.stand_ins is not None:
        places += "\0\0with stand-ins"
    key = hashlib.sha256(places.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return (served.cache_dir or cache_folder()) / "marks" / f"{key}.json"


def _read(path: Path) -> list[Mark]:
    try:
        return decoded(path, list[Mark])
    except FileNotFoundError:
        return []
    except (OSError, BrokenSealError) as error:
        raise StoreError(path, f"the marks cannot be read: {error}") from error


def _write(path: Path, given: list[Mark]) -> None:
    """Keep the marks; a file that could not be read, so that nobody saw what is in it, is kept beside them."""
    try:
        _read(path)
    except StoreError:
        with contextlib.suppress(OSError):
            path.replace(path.with_suffix(".damaged.json"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_sealed(path, msgspec.json.encode(given))
    except OSError as error:
        raise StoreError(path, f"the marks cannot be kept: {error.strerror}") from error
