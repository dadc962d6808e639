"""`ascend-sn history ACTION`: the baselines that are remembered, and how performance developed."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

import click

from ascend_sn.cli.command import ANY_PATH, GuideCommand, language_option, redact_option, switch
from ascend_sn.cli.comparing import redactor_here, shown
from ascend_sn.cli.output import check_output, write_text
from ascend_sn.errors import UsageError
from ascend_sn.report.words.language import Language

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ascend_sn.report.documents.history import HistoryDocument, TrendDocument

Action = Literal["record", "list", "show", "pin", "unpin", "prune", "trend"]

ACTIONS: Final = get_args(Action)
SUFFIXES: Final = (".html", ".json")


@click.command(cls=GuideCommand)
@click.argument("action", type=click.Choice(ACTIONS))
@click.argument("words", nargs=-1, metavar="[RUN|ID]...")
@click.option("--history", "place", metavar="FILE|URL", help="cli.option.history")
@click.option("--series", metavar="NAME", help="cli.option.series")
@click.option("--revision", metavar="TEXT", help="cli.option.revision")
@click.option("--branch", metavar="TEXT", help="cli.option.branch")
@click.option("--note", metavar="TEXT", help="cli.option.note")
@switch("--pin", help="cli.option.pin")
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="cli.option.keep")
@click.option("--older-than", type=click.FloatRange(min=0), metavar="DAYS", help="cli.option.older-than")
@click.option("--newest", type=click.IntRange(min=1), metavar="N", help="cli.option.newest")
@click.option("--metric", "metrics", multiple=True, metavar="METRIC", help="cli.option.trend-metric")
@click.option("--output", type=ANY_PATH, metavar="FILE", help="cli.option.trend-output")
@click.option("--format", "output_format", type=click.Choice(["text", "json"]), help="cli.option.format")
@redact_option()
@click.option("--cache-dir", type=ANY_PATH, metavar="DIR", help="cli.option.cache-dir")
@language_option()
def history(
    *,
    action: Action,
    words: tuple[str, ...],
    place: str | None,
    series: str | None,
    revision: str | None,
    branch: str | None,
    note: str | None,
    pin: bool,
    keep: int | None,
    older_than: float | None,
    newest: int | None,
    metrics: tuple[str, ...],
    output: Path | None,
    output_format: str | None,
    redact: bool,
    cache_dir: Path | None,
    language: Language,
) -> int:
    """Carry out an action on the history."""
    from ascend_sn.cli import history_actions as actions
    from ascend_sn.compare.history.baseline import HistorySettings

    settings = HistorySettings.in_force(Path.cwd(), place=place, series=series)
    redactor = redactor_here() if redact else None
    if output is not None:
        if action != "trend":
            raise UsageError(f"--output: only of trend, not of {action}")
        check_output(output, SUFFIXES)
    if action == "trend":
        _no_words(action, words)
        _trend(shown(actions.trend(settings, metrics, newest, language), redactor), output, output_format, language)
        return 0
    now_ns = time.time_ns()
    if action == "record":
        told = actions.Told(revision=revision, branch=branch, note=note, pinned=pin)
        paths = [Path(word) for word in words]
        document = actions.recorded(
            settings, paths, told, now_ns=now_ns, cache_dir=cache_dir, language=language, redactor=redactor
        )
    elif action == "prune":
        _no_words(action, words)
        before_ns = None if older_than is None else now_ns - int(older_than * 86_400e9)
        document = actions.pruned(settings, series, keep=keep, before_ns=before_ns, language=language)
    elif action == "list":
        _no_words(action, words)
        document = actions.listed(settings, series, newest, language)
    else:
        document = actions.by_number(settings, action, _numbers(action, words), language)
    _print(shown(document, redactor), action, output_format, language)
    return 0


def _no_words(action: Action, words: Sequence[str]) -> None:
    if words:
        raise UsageError(f"history {action} takes no {words[0]!r}")


def _numbers(action: Action, words: Sequence[str]) -> list[int]:
    numbers = [int(word.removeprefix("#")) if word.removeprefix("#").isdecimal() else 0 for word in words]
    if not numbers or not all(0 < number < 1 << 31 for number in numbers):
        raise UsageError(f"history {action}: name runs by their numbers, such as 12")
    return numbers


def _print(document: HistoryDocument, action: Action, output_format: str | None, language: Language) -> None:
    if output_format == "json":
        from ascend_sn.report.documents.as_json import json_text

        sys.stdout.write(json_text(document))
        return
    from ascend_sn.report.terminal.history import write_run, write_runs

    if document.removed_count is not None:
        print(language.text("history.removed", count=document.removed_count))
    elif action == "show":
        write_run(document, language, sys.stdout)
    else:
        write_runs(document, language, sys.stdout)


def _trend(document: TrendDocument, output: Path | None, output_format: str | None, language: Language) -> None:
    from ascend_sn.report.documents.as_json import json_text

    if output is not None:
        if output.suffix.lower() == ".json":
            text = json_text(document)
        else:
            from ascend_sn.report.html.history import trend_html

            text = trend_html(document, language)
        write_text(output, text)
        print(language.text("say.written", path=output), file=sys.stderr)
    if output_format == "json":
        sys.stdout.write(json_text(document))
    elif output is None or output_format is not None:
        from ascend_sn.report.terminal.history import write_trend

        write_trend(document, language, sys.stdout)
