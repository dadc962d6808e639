"""`ascend-sn view`: the web page over one run, or two to compare."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from ascend_sn.cli.command import ANY_PATH, GuideCommand, input_options, job_option, language_option, redact_option
from ascend_sn.cli.opening import input_of
from ascend_sn.cli.starting import started
from ascend_sn.errors import AscendSnError, InputError, UsageError
from ascend_sn.report.words.language import Code, Language
from ascend_sn.report.words.printable import printable
from ascend_sn.store.input import Input

if TYPE_CHECKING:
    from ascend_sn.insight.runs import Note, ServedRun
    from ascend_sn.insight.stand_ins import StandIns
    from ascend_sn.store import Location

_Document = TypeVar("_Document")

SCHEMA: Final = "ascend-sn/view/1"

_RUNS: Final = 2
_IDLE_MINUTES: Final = 60.0
_PATIENCE_S: Final = 1.0


@click.command(cls=GuideCommand)
@input_options()
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="PORT", help="cli.option.port")
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help="cli.option.host")
@click.option("--base-url", default="", metavar="URL", help="cli.option.base-url")
@click.option("--no-browser", is_flag=True, help="cli.option.no-browser")
@click.option("--background", is_flag=True, help="cli.option.background")
@click.option(
    "--idle-exit", type=click.FloatRange(min=0, min_open=True), metavar="MINUTES", help="cli.option.idle-exit"
)
@click.option("--history", metavar="PLACE", help="cli.option.view-history")
@click.option("--format", "output_format", type=click.Choice(("text", "json")), help="cli.option.format")
@job_option()
@redact_option()
@click.option("--cache-dir", type=ANY_PATH, metavar="DIR", help="cli.option.cache-dir")
@language_option()
def view(
    *,
    paths: tuple[Path, ...],
    input_paths: tuple[Path, ...],
    port: int,
    host: str,
    base_url: str,
    no_browser: bool,
    background: bool,
    idle_exit: float | None,
    history: str | None,
    output_format: str | None,
    job: str | None,
    redact: bool,
    cache_dir: Path | None,
    language: Language,
) -> int:
    """Serve the page of one run or two until interrupted."""
    inputs = input_of(paths, input_paths).paths
    named = [Input.of(path) for path in inputs]
    if idle_exit is not None and math.isnan(idle_exit):
        raise UsageError("--idle-exit: nan is no number of minutes")
    if len(named) > _RUNS:
        raise UsageError(f"view shows one run, or two to compare, not {len(named)}")
    for one in named:
        for path in one.paths:
            if not path.exists():
                raise InputError(path, "no such file or folder")
    if history is not None:
        _look_at_history(history, cache_dir, language)
    if background:
        words = [
            *map(str, inputs),
            "--port",
            str(port),
            "--host",
            host,
            "--base-url",
            base_url,
            "--lang",
            language.code,
        ]
        for option, value in (("--history", history), ("--job", job), ("--cache-dir", cache_dir)):
            words += [] if value is None else [option, str(value)]
        idle_minutes = _IDLE_MINUTES if idle_exit is None else idle_exit
        words += ["--idle-exit", str(idle_minutes), *(["--no-browser"] if no_browser else [])]
        words += ["--redact"] if redact else []
        _print(started(words), output_format, language, idle_minutes)
        return 0
    from ascend_sn.insight.app import application
    from ascend_sn.insight.runs import Served
    from ascend_sn.insight.serve import listening, serve
    from ascend_sn.insight.stand_ins import StandIns

    stand_ins = StandIns(named) if redact else None
    documents = Documents(cache_dir, stand_ins)
    served = Served(named, documents, cache_dir=cache_dir, job=job, history=history, stand_ins=stand_ins)
    at = listening(host, port, base_url)

    def ready() -> None:
        for run in served.runs:
            run.read_in_background()
        _let_fail(served.runs)
        where = {name: getattr(at.address, name) for name in ("url", "frame", "tunnel", "port")}
        _print({**where, "pid": os.getpid()}, output_format, language, None)
        if not no_browser:
            _open_browser(at.address.url)

    told: set[str] = set()

    def is_over() -> bool:
        failed = [run for run in served.runs if run.failure is not None]
        for run in failed:
            if run.id not in told and len(failed) < len(served.runs):
                print(f"ascend-sn: {printable(str(run.failure))}", file=sys.stderr)
                told.add(run.id)
        return len(failed) == len(served.runs)

    def ended(signal_: int | None, is_busy: bool) -> None:
        has_ended = served.close()
        if signal_ is not None and (is_busy or not has_ended):
            # What still works in other threads cannot be broken off; nothing of it is wanted any more.
            print(language.text("cli.interrupted"), file=sys.stderr)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(128 + signal_)

    idle_exit_s = None if idle_exit is None else 60 * idle_exit
    serve(application(served), at, ready=ready, ended=ended, idle_exit_s=idle_exit_s, is_over=is_over)
    _let_fail(served.runs, patience_s=0)
    return 0


def _look_at_history(place: str, cache_dir: Path | None, language: Language) -> None:
    """Say in one line what is wrong with a history; the page is shown all the same, and says it too."""
    try:
        Documents(cache_dir).history(place, language.code)
    except AscendSnError as error:
        print(f"ascend-sn: --history: {printable(str(error))}", file=sys.stderr)


def _let_fail(runs: Sequence[ServedRun], *, patience_s: float = _PATIENCE_S) -> None:
    """Wait a moment for what fails at once: an address of which nothing can be seen helps nobody.

    Raises:
        AscendSnError: No run can be shown.
    """
    until = time.monotonic() + patience_s
    while time.monotonic() < until and any(run.state.state == "reading" for run in runs):
        time.sleep(0.02)
    failures = [run.failure for run in runs if run.failure is not None]
    if len(failures) == len(runs):
        raise failures[0]


def _print(where: Mapping[str, Any], output_format: str | None, language: Language, idle_minutes: float | None) -> None:
    """Say where the page is, and when it ends."""
    if output_format == "json":
        print(json.dumps({"schema": SCHEMA, **where}), flush=True)
        return
    print(where["url"], flush=True)
    if where["tunnel"]:
        print(printable(where["tunnel"]), flush=True)
    if idle_minutes is None:
        print(language.text("say.viewing"), file=sys.stderr)
    else:
        print(language.text("say.viewing-on", pid=str(where["pid"]), minutes=f"{idle_minutes:g}"), file=sys.stderr)


class Documents:
    """What the commands `analyze`, `compare` and `history` would say, for the page."""

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


def _open_browser(url: str) -> None:
    """Open a browser where somebody would see it."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return
    if shutil.which("xdg-open") is None and sys.platform.startswith("linux"):
        return
    import webbrowser

    webbrowser.open(url)
