"""Tables over HTTP: `runs/RUN/tables/NAME`, as JSON or, with `format=csv`, as a download."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ascend_sn.errors import UsageError
from ascend_sn.insight.tables.answer import RunTables

__all__ = ["table_routes"]

_CHUNK: Final = 1 << 16


def table_routes(tables_of: Callable[[str], RunTables]) -> list[Route]:
    """Return the routes of the tables, relative to the API.

    Args:
        tables_of: Gives the tables of a run by its id; raises where there is no such run, or it is not read yet.
    """

    # No coroutine: such an endpoint runs in a thread, where a query may take its time.
    def table(request: Request) -> Response:
        """Rows of one of the [tables of the page](page-tables.md); with `format=csv` all of them, as a download."""
        tables = tables_of(request.path_params["run"])
        name = request.path_params["name"]
        given = dict(request.query_params)
        wanted = given.get("format", "json")
        if wanted == "csv":
            headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
            return StreamingResponse(
                _chunks(tables.csv(name, given)), media_type="text/csv; charset=utf-8", headers=headers
            )
        if wanted != "json":
            raise UsageError("format is json or csv")
        return Response(msgspec.json.encode(tables.answer(name, given)), media_type="application/json")

    return [Route("/runs/{run}/tables/{name}", table, methods=["GET"])]


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(_CHUNK):
            yield chunk
