"""What the command line says about runs, over HTTP: documents, comparisons, trends, in the reader's language.

A document takes seconds, and several tabs ask for the same one: it is made once, and then kept.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ascend_sn.insight.answers import ApiError, answer, language, parameter
from ascend_sn.insight.runs import Served

__all__ = ["document_routes"]


def document_routes(served: Served) -> list[Route]:
    """Return the routes of documents, relative to the API."""
    made = _Made()

    # No coroutines: such endpoints run in threads, where an analysis may take its time.
    def document(request: Request) -> Response:
        """The document of a run, as `analyze --format json` writes it, with 500 rows to a ranking.

        Parameters: `lang`.
        """
        code = language(request)
        opened = served.opened(request.path_params["run"])
        return made.once(f"{opened.id} {code}", lambda: served.documents.document(opened.input, code, opened.job))

    def comparison(request: Request) -> Response:
        """The comparison of two runs, as `compare --format json` writes it.

        Parameters: `base`, `candidate` (letters of runs), `lang`.
        """
        code = language(request)
        base, candidate = (served.opened(parameter(request, name)) for name in ("base", "candidate"))
        if base is candidate:
            raise ApiError(400, "bad_parameter", "a comparison needs two different runs")
        return made.once(
            f"{base.id} {candidate.id} {code}",
            lambda: served.documents.comparison(base.input, candidate.input, code),
        )

    def history(request: Request) -> Response:
        """The trend of the history given with `--history`, as `history trend --format json` writes it.

        Parameters: `lang`.
        """
        code = language(request)
        place = served.history
        if place is None:
            raise ApiError(404, "no_history", "no history was given", "start with: ascend-sn view RUN --history PLACE")
        return answer(served.documents.history(place, code))

    return [
        Route("/runs/{run}/document", document, methods=["GET"]),
        Route("/comparison", comparison, methods=["GET"]),
        Route("/history", history, methods=["GET"]),
    ]


class _Made:
    """Answers that are there already; one is made at a time, since an analysis takes a whole core."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._content: dict[str, bytes] = {}

    def once(self, key: str, make: Callable[[], bytes]) -> Response:
        with self._lock:
            if key not in self._content:
                self._content[key] = make()
            return answer(self._content[key])
