"""`ascend-sn view`: the web page over one run, or two to compare."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ascend_sn.cli.command import ANY_PATH, GuideCommand, input_options, job_option, language_option, redact_option
from ascend_sn.cli.opening import input_of
from ascend_sn.cli.page_documents import Documents
from ascend_sn.cli.starting import started
from ascend_sn.errors import AscendSnError, InputError, UsageError
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable
from ascend_sn.store.input import Input

if TYPE_CHECKING:
    from ascend_sn.insight.runs import Served, ServedRun

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
        _in_background(
            inputs, port, host, base_url, history, job, cache_dir, language, output_format,
            idle_minutes=_IDLE_MINUTES if idle_exit is None else idle_exit, no_browser=no_browser, redact=redact,
        )  # fmt: skip
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

    idle_exit_s = None if idle_exit is None else 60 * idle_exit
    serve(
        application(served), at, ready=ready, idle_exit_s=idle_exit_s, is_over=_over_when_all_failed(served.runs),
        ended=lambda signal_, is_busy: _ended(served, language, signal_, is_busy),
    )  # fmt: skip
    _let_fail(served.runs, patience_s=0)
    return 0


def _in_background(
    inputs: Sequence[Path],
    port: int,
    host: str,
    base_url: str,
    history: str | None,
    job: str | None,
    cache_dir: Path | None,
    language: Language,
    output_format: str | None,
    *,
    idle_minutes: float,
    no_browser: bool,
    redact: bool,
) -> None:
    """Have a process of its own serve the page, and say where."""
    words = [*map(str, inputs), "--port", str(port), "--host", host, "--base-url", base_url, "--lang", language.code]
    for option, value in (("--history", history), ("--job", job), ("--cache-dir", cache_dir)):
        words += [] if value is None else [option, str(value)]
    words += ["--idle-exit", str(idle_minutes)]
    words += [option for option, is_on in (("--no-browser", no_browser), ("--redact", redact)) if is_on]
    _print(started(words), output_format, language, idle_minutes)


def _over_when_all_failed(runs: Sequence[ServedRun]) -> Callable[[], bool]:
    """Return what says whether nothing is left to show; of two runs it names the one that failed, once."""
    told: set[str] = set()

    def is_over() -> bool:
        failed = [run for run in runs if run.failure is not None]
        for run in failed:
            if run.id not in told and len(failed) < len(runs):
                print(f"ascend-sn: {printable(str(run.failure))}", file=sys.stderr)
                told.add(run.id)
        return len(failed) == len(runs)

    return is_over


def _ended(served: Served, language: Language, signal_: int | None, is_busy: bool) -> None:
    has_ended = served.close(is_busy=is_busy)
    if signal_ is not None and (is_busy or not has_ended):
        # What still works in other threads cannot be broken off; nothing of it is wanted any more.
        print(language.text("cli.interrupted"), file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(128 + signal_)


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


def _open_browser(url: str) -> None:
    """Open a browser where somebody would see it."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return
    if shutil.which("xdg-open") is None and sys.platform.startswith("linux"):
        return
    import webbrowser

    webbrowser.open(url)
