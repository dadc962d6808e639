"""`ascend-sn gate CAND --baseline BASE`: fail a pipeline when performance gets worse."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ascend_sn.cli.baselines import BaselineSource
from ascend_sn.cli.command import ANY_PATH, GuideCommand, language_option, redact_option, switch
from ascend_sn.cli.comparing import measured_side, recoveries_of, redacted_side, redactor_here, shown
from ascend_sn.cli.notifying import People
from ascend_sn.cli.output import check_output, write_text
from ascend_sn.errors import NotComparableError
from ascend_sn.report.words.language import Language

if TYPE_CHECKING:
    from collections.abc import Callable

    from ascend_sn.compare.settings import GateSettings
    from ascend_sn.report.documents.comparison import GateDocument

SUFFIXES: Final = (".xml", ".html", ".md", ".json")


@click.command(cls=GuideCommand)
@click.argument("candidates", nargs=-1, metavar="CAND", type=ANY_PATH)
@click.option("--input", "inputs", multiple=True, type=ANY_PATH, metavar="PATH", help="cli.option.input")
@click.option("--baseline", multiple=True, type=ANY_PATH, metavar="PATH", help="cli.option.baseline")
@click.option("--history", "place", metavar="FILE|URL", help="cli.option.gate-history")
@click.option("--series", metavar="NAME", help="cli.option.gate-series")
@click.option("--runs", type=click.IntRange(min=1), metavar="N", help="cli.option.gate-runs")
@switch("--record", help="cli.option.gate-record")
@click.option("--limit", "limits", multiple=True, metavar="METRIC=N", help="cli.option.limit")
@click.option("--metric", "metrics", multiple=True, metavar="METRIC", help="cli.option.metric")
@click.option("--output", "outputs", multiple=True, type=ANY_PATH, metavar="FILE", help="cli.option.gate-output")
@click.option("--gitlab", type=ANY_PATH, metavar="FILE", help="cli.option.gitlab")
@switch("--github", help="cli.option.github")
@switch("--notify", help="cli.option.notify")
@switch("--notify-dry-run", help="cli.option.notify-dry-run")
@switch("--null", help="cli.option.null")
@switch("--require-confidence", help="cli.option.require-confidence")
@switch("--strict", help="cli.option.compare-strict")
@click.option(
    "--format", "output_format", type=click.Choice(["text", "json", "md", "junit"]), help="cli.option.gate-format"
)
@redact_option()
@click.option("--cache-dir", type=ANY_PATH, metavar="DIR", help="cli.option.cache-dir")
@language_option()
def gate(
    *,
    candidates: tuple[Path, ...],
    inputs: tuple[Path, ...],
    baseline: tuple[Path, ...],
    place: str | None,
    series: str | None,
    runs: int | None,
    record: bool,
    limits: tuple[str, ...],
    metrics: tuple[str, ...],
    outputs: tuple[Path, ...],
    gitlab: Path | None,
    github: bool,
    notify: bool,
    notify_dry_run: bool,
    null: bool,
    require_confidence: bool,
    strict: bool,
    output_format: str | None,
    redact: bool,
    cache_dir: Path | None,
    language: Language,
) -> int:
    """Judge a candidate against a baseline: exit 1 when it is worse, 3 where they cannot be compared."""
    began = time.perf_counter_ns()
    from ascend_sn.compare.settings import GateSettings

    for path in outputs:
        check_output(path, SUFFIXES)
    if gitlab is not None:
        check_output(gitlab, (".json",))
    settings = GateSettings.in_force(Path.cwd()).with_limits(limits).only(metrics)
    settings = settings.with_switches(strict=strict, require_confidence=require_confidence)
    people = People.of(notify=notify, dry_run=notify_dry_run, with_link=not redact)
    redactor = redactor_here() if redact else None
    source = BaselineSource.of(baseline, place=place, series=series, runs=runs, record=record, redactor=redactor)
    if null:
        return _null_test(source, settings, output_format, cache_dir, language)
    document_in = _judged(source, (*candidates, *inputs), settings, cache_dir, language, began)
    if document_in is None:
        return 0
    document = document_in(language)
    for path in outputs:
        write_text(path, _text(document, path.suffix.lower().removeprefix("."), language))
        print(language.text("say.written", path=path), file=sys.stderr)
    if gitlab is not None:
        from ascend_sn.report.gate_files import gitlab_report

        write_text(gitlab, gitlab_report(document))
    _print(document, output_format, language)
    if github:
        from ascend_sn.report.gate_files import github_annotations

        print(
            github_annotations(document), end="", file=sys.stderr if output_format in ("json", "junit") else sys.stdout
        )
    people.tell(document_in, language)
    return {"failed": 1, "cannot compare": NotComparableError.exit_code}.get(document.verdict, 0)


def _judged(
    source: BaselineSource,
    candidates: tuple[Path, ...],
    settings: GateSettings,
    cache_dir: Path | None,
    language: Language,
    began: int,
) -> Callable[[Language], GateDocument] | None:
    """Judge, and return the document in any language; None where a history has just begun with the candidate."""
    from ascend_sn.compare.gate import gated
    from ascend_sn.report.documents.comparison import comparison_document, gate_document

    other = measured_side(candidates, language, cache_dir=cache_dir)
    if source.redactor is not None:
        other = redacted_side(other, source.redactor)
    base, history = source.runs_for(other, language, cache_dir=cache_dir)
    if not base:
        return None
    result = gated(base, other.figures, settings)
    recoveries = [] if result.verdict == "passed" else recoveries_of(result.comparison, other, cache_dir=cache_dir)
    took_ns = time.perf_counter_ns() - began
    source.keep(other, result, language)

    def document_in(chosen: Language) -> GateDocument:
        document = comparison_document(
            result.comparison, base, other.figures, chosen, recoveries=recoveries, analysis_ns=took_ns
        )
        return shown(gate_document(result, document, chosen, history), source.redactor)

    return document_in


def _null_test(
    source: BaselineSource,
    settings: GateSettings,
    output_format: str | None,
    cache_dir: Path | None,
    language: Language,
) -> int:
    from ascend_sn.compare.gate import null_test
    from ascend_sn.report.documents.comparison import null_document

    runs, _ = source.runs_for(None, language, cache_dir=cache_dir)
    result = null_test(runs, settings.limits)
    if output_format == "json":
        from ascend_sn.report.documents.as_json import json_text

        sys.stdout.write(json_text(null_document(result, language)))
    else:
        from ascend_sn.report.terminal.comparison import write_null_test

        write_null_test(result, language, sys.stdout)
    return 0


def _print(document: GateDocument, output_format: str | None, language: Language) -> None:
    if output_format in ("json", "md", "junit"):
        sys.stdout.write(_text(document, output_format, language))
    else:
        from ascend_sn.report.terminal.comparison import write_gate

        write_gate(document, language, sys.stdout)


def _text(document: GateDocument, output_format: str, language: Language) -> str:
    if output_format == "json":
        from ascend_sn.report.documents.as_json import json_text

        return json_text(document)
    if output_format == "md":
        from ascend_sn.report.markdown.comparison import gate_markdown

        return gate_markdown(document, language)
    if output_format == "html":
        from ascend_sn.report.html.comparison import gate_html

        return gate_html(document, language)
    from ascend_sn.report.gate_files import junit_xml

    return junit_xml(document, language)
