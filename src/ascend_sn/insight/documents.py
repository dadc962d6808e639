"""What the command line says about runs, over HTTP: documents, comparisons, trends, in the reader's language.

A document takes seconds, and several tabs ask for the same one: it is made once, and then kept. Each page asks for the
parts that it shows, and, while they are made, for how far that is.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ascend_sn.insight.answers import ApiError, answer, language, parameter
from ascend_sn.insight.runs import Note, Served

__all__ = ["DocumentProgress", "document_routes"]


class DocumentProgress(msgspec.Struct, frozen=True):
    """How far a document is: `done` of `total` parts, of which `part` is worked out now; 0 of 0 while it is read."""

    state: Literal["absent", "making", "made"]
    done: int = 0
    total: int = 0
    part: str = ""


def document_routes(served: Served) -> list[Route]:
    """Return the routes of documents, relative to the API."""
    documents, comparisons = _Documents(), _Made()

    # No coroutines: such endpoints run in threads, where an analysis may take its time.
    def document(request: Request) -> Response:
        """The document of a run, as `analyze --format json` writes it, with 500 rows to a ranking.

        Parameters: `lang`; `parts`, fields of the document separated by commas (all where not given).
        """
        code = language(request)
        opened = served.opened(request.path_params["run"])
        given = parameter(request, "parts", "")
        parts = documents.of(
            f"{opened.id} {code}",
            lambda note: served.documents.document(opened.location, code, opened.job, note),
        )
        if given == "":
            return answer(parts)
        unknown = [name for name in given.split(",") if name not in parts]
        if unknown:
            raise ApiError(400, "bad_parameter", f"the document has no part {unknown[0]}")
        return answer({name: parts[name] for name in given.split(",")})

    def document_progress(request: Request) -> Response:
        """How far the document of a run is: `absent` (nobody asked for it), `making` or `made`.

        Parameters: `lang`.
        """
        code = language(request)
        opened = served.opened(request.path_params["run"])
        return answer(documents.progress(f"{opened.id} {code}"))

    def comparison(request: Request) -> Response:
        """The comparison of two runs, as `compare --format json` writes it.

        Parameters: `base`, `candidate` (letters of runs), `lang`.
        """
        code = language(request)
        base, candidate = (served.opened(parameter(request, name)) for name in ("base", "candidate"))
        if base is candidate:
            raise ApiError(400, "bad_parameter", "a comparison needs two different runs")
        return comparisons.once(
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
        Route("/runs/{run}/document-progress", document_progress, methods=["GET"]),
        Route("/comparison", comparison, methods=["GET"]),
        Route("/history", history, methods=["GET"]),
    ]


class _Documents:
    """Documents that are there already, by their parts; one is made at a time, since an analysis takes a whole core."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._parts: dict[str, dict[str, msgspec.Raw]] = {}
        self._progress: dict[str, DocumentProgress] = {}

    def of(self, key: str, make: Callable[[Note], bytes]) -> dict[str, msgspec.Raw]:
        if key in self._parts:
            return self._parts[key]
        with self._lock:
            if key not in self._parts:

                def note(done: int, total: int, part: str) -> None:
                    self._progress[key] = DocumentProgress("making", done, total, part)

                note(0, 0, "")
                try:
                    self._parts[key] = msgspec.json.decode(make(note), type=dict[str, msgspec.Raw])
                finally:
                    del self._progress[key]
        return self._parts[key]

    def progress(self, key: str) -> DocumentProgress:
        if key in self._parts:
            return DocumentProgress("made")
        return self._progress.get(key, DocumentProgress("absent"))


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
