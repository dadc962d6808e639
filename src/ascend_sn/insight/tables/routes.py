"""Tables over HTTP: `runs/RUN/tables/NAME`, as JSON or, with `format=csv`, as a download."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO, Final

import msgspec
from anyio import CapacityLimiter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ascend_sn.errors import UsageError
from ascend_sn.insight.tables.answer import RunTables

__all__ = ["table_routes"]

_CHUNK: Final = 1 << 16

_EXPORTS: Final = 2
"""Downloads that are made at a time; a tab that asks for many leaves threads for the others."""

_NOBODY: Final = 499
"""What is answered to a client that is gone; nobody reads it."""


def table_routes(tables_of: Callable[[str], RunTables]) -> list[Route]:
    """Return the routes of the tables, relative to the API.

    Args:
        tables_of: Gives the tables of a run by its id; raises where there is no such run, or it is not read yet.
    """

    exports = CapacityLimiter(_EXPORTS)

    async def table(request: Request) -> Response:
        """Rows of one of the [tables of the page](page-tables.md); with `format=csv` all of them, as a download."""
        tables = await run_in_threadpool(tables_of, request.path_params["run"])
        name = request.path_params["name"]
        given = dict(request.query_params)
        wanted = given.get("format", "json")
        if wanted == "csv":
            async with exports:
                if await request.is_disconnected():
                    return Response(status_code=_NOBODY)
                return _Download(await run_in_threadpool(tables.csv, name, given), f"{name}.csv")
        if wanted != "json":
            raise UsageError("format is json or csv")
        answer = await run_in_threadpool(tables.answer, name, given)
        return Response(msgspec.json.encode(answer), media_type="application/json")

    return [Route("/runs/{run}/tables/{name}", table, methods=["GET"])]


class _Download(StreamingResponse):
    """A file that is sent and closed, also where the client goes before the end: what it holds stays until then."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        super().__init__(_chunks(file), media_type="text/csv; charset=utf-8", headers=headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._file.close()


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk
