"""What the commands `analyze`, `compare` and `history` say, for the page that `view` serves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ascend_sn.report.words.language import Code, Language
from ascend_sn.store.input import Input

if TYPE_CHECKING:
    from ascend_sn.insight.runs import Note
    from ascend_sn.insight.stand_ins import StandIns
    from ascend_sn.store import Location

__all__ = ["Documents"]

_Document = TypeVar("_Document")


class Documents:
    """Makes them when they are asked for, as JSON; with stand-ins for paths, users and hosts where those are given."""

    def __init__(self, cache_dir: Path | None, stand_ins: StandIns | None = None) -> None:
        self._cache_dir = cache_dir
        self._stand_ins = stand_ins

    def document(self, location: Location, code: str, job: str | None, progress: Note) -> bytes:
        """Return the document of a run that lies there, as JSON; `progress` is told which part of how many comes."""
        from ascend_sn.cli.document_apart import make_apart
        from ascend_sn.cli.opening import document_at, page_selection
        from ascend_sn.report.documents.as_json import json_text

        language = _language(code)

        def apart() -> None:
            if location.is_cached and _is_large(location):
                make_apart(location, language.code, job, cache_dir=self._cache_dir, progress=progress)

        document = document_at(
            location, language, cache_dir=self._cache_dir, selection=page_selection(), job=job, progress=progress,
            first=apart,
        )  # fmt: skip
        return json_text(self._shown(document)).encode()

    def comparison(self, baseline: Input, candidate: Input, code: str) -> bytes:
        """Return the document of a comparison, as JSON."""
        from ascend_sn.cli.comparing import comparison_of
        from ascend_sn.report.documents.as_json import json_text

        document = comparison_of(baseline.paths, candidate.paths, _language(code), cache_dir=self._cache_dir)
        return json_text(self._shown(document)).encode()

    def history(self, place: str, code: str) -> bytes:
        """Return the document of a trend, as JSON."""
        from ascend_sn.cli.history_actions import trend
        from ascend_sn.compare.history.baseline import HistorySettings
        from ascend_sn.report.documents.as_json import json_text

        settings = HistorySettings.in_force(Path.cwd(), place=place, series=None)
        return json_text(self._shown(trend(settings, (), None, _language(code)))).encode()

    def text(self, code: str, key: str, params: Mapping[str, object]) -> str:
        """Return a text of the catalogues."""
        return _language(code).text(key, **params)

    def _shown(self, document: _Document) -> _Document:
        """The document as the page may show it."""
        if self._stand_ins is None:
            return document
        from ascend_sn.cli.comparing import shown

        return self._stand_ins.made(lambda redactor: shown(document, redactor))


def _is_large(location: Location) -> bool:
    """Say whether its document takes more memory than a server should hold."""
    from ascend_sn.analysis.opening import LOOKED_INTO_WHOLE
    from ascend_sn.store.upgrade import load_manifest

    return len(load_manifest(location.folder).profiles) > LOOKED_INTO_WHOLE


@cache
def _language(code: Any) -> Language:
    chosen: Code = "zh" if code == "zh" else "en"
    return Language.load(chosen)
