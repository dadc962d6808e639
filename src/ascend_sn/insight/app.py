"""The application: the page, the API, and what becomes of errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route

from ascend_sn._version import __version__
from ascend_sn.errors import AscendSnError, NotCollectedError, UnknownNameError, UsageError
from ascend_sn.insight.alignment import alignment_routes
from ascend_sn.insight.answers import LANGUAGES, ApiError, answer, failed, is_api
from ascend_sn.insight.assets import asset_routes
from ascend_sn.insight.call_changes import call_change_routes
from ascend_sn.insight.call_paths import call_path_routes
from ascend_sn.insight.documents import document_routes
from ascend_sn.insight.fused_changes import fused_change_routes
from ascend_sn.insight.kernel_changes import kernel_change_routes
from ascend_sn.insight.marks import mark_routes
from ascend_sn.insight.memory_curve import curve_routes
from ascend_sn.insight.memory_moment import moment_routes
from ascend_sn.insight.memory_parts import part_routes
from ascend_sn.insight.profiles import profile_routes
from ascend_sn.insight.runs import Served
from ascend_sn.insight.search import search_routes
from ascend_sn.insight.selection import selection_routes
from ascend_sn.insight.slices import slice_routes
from ascend_sn.insight.stand_ins import StandIns
from ascend_sn.insight.static_memory import static_memory_routes
from ascend_sn.insight.tables.answer import RunTables
from ascend_sn.insight.tables.routes import table_routes
from ascend_sn.insight.tracks import track_routes
from ascend_sn.insight.viewport import viewport_routes

__all__ = ["API", "api_routes", "application"]

API: Final = "/api/v1"

RouteMaker = Callable[[Served], Sequence[Route]]


def _tables(served: Served) -> list[Route]:
    def tables_of(id: str) -> RunTables:
        opened = served.opened(id)
        return opened.once("tables", lambda: RunTables(opened.across, opened.origins, opened.one_by_one))

    makers = (table_routes, curve_routes, moment_routes, part_routes, static_memory_routes)
    return [route for maker in makers for route in maker(tables_of)]


MAKERS: Final[tuple[RouteMaker, ...]] = (
    profile_routes,
    track_routes,
    viewport_routes,
    slice_routes,
    search_routes,
    selection_routes,
    alignment_routes,
    mark_routes,
    document_routes,
    kernel_change_routes,
    call_path_routes,
    call_change_routes,
    fused_change_routes,
    _tables,
)
"""Every module of the API; each returns its routes over the runs that are served."""


def application(served: Served, *, pages: Sequence[Route] | None = None) -> Starlette:
    """Return the application over runs; `pages` are the files of the page, those that were built by default."""

    def known_error(_request: Request, error: Exception) -> Response:
        return _known_error(error, served.stand_ins)

    app = Starlette(
        routes=[*(asset_routes() if pages is None else pages), Mount(API, routes=api_routes(served))],
        exception_handlers={
            ApiError: _api_error,
            AscendSnError: known_error,
            ClientDisconnect: _gone,
            HTTPException: _http_error,
            Exception: _defect,
        },
    )
    app.router.redirect_slashes = False  # to a whole address, which is wrong behind a proxy
    return app


def api_routes(served: Served) -> list[Route]:
    """Return the routes of the API, below its prefix."""

    def session(_request: Request) -> Response:
        """Version, languages, and how it stands with each run."""
        return answer(
            {
                "version": __version__,
                "languages": LANGUAGES,
                "runs": [run.state for run in served.runs],
                "history": served.history is not None,
            }
        )

    return [Route("/session", session), *(route for maker in MAKERS for route in maker(served))]


def _api_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return failed(error)


def _known_error(error: Exception, stand_ins: StandIns | None) -> Response:
    code, status = "unusable_input", 422
    if isinstance(error, NotCollectedError):
        code, status = "not_collected", 404
    elif isinstance(error, UnknownNameError):
        code, status = "unknown_name", 404
    elif isinstance(error, UsageError):
        code, status = "bad_request", 400
    message = str(error) if stand_ins is None else stand_ins.text(str(error))
    return failed(ApiError(status, code, message))


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if is_api(request.url.path):
        code = "wrong_method" if error.status_code == 405 else "no_such_address"
        return failed(ApiError(error.status_code, code, error.detail))
    return PlainTextResponse(f"{error.detail}\n", error.status_code)


def _gone(_request: Request, _error: Exception) -> Response:
    return failed(ApiError(413, "too_large", "the body is too large, or its sender went away"))


def _defect(_request: Request, _error: Exception) -> Response:
    return failed(ApiError(500, "internal", "an internal error; see the output of the server"))
