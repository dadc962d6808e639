"""`ascend-sn analyze`: where the step goes, on one screen or as a file."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ascend_sn.cli.advice import check_rule, print_explanation, reaches
from ascend_sn.cli.command import (
    ANY_PATH,
    GuideCommand,
    common_options,
    job_option,
    redact_option,
    rules_option,
    switch,
)
from ascend_sn.cli.opening import document_of, input_of
from ascend_sn.cli.output import check_output, print_document, write_document
from ascend_sn.report.words.language import Language


@click.command(cls=GuideCommand)
@common_options()
@job_option()
@redact_option()
@click.option("--output", type=ANY_PATH, metavar="FILE", help="cli.option.output")
@click.option("--top-k", type=click.IntRange(min=1), metavar="N", help="cli.option.top-k")
@click.option("--op-time-threshold", type=click.FloatRange(min=0), metavar="MS", help="cli.option.op-time-threshold")
@switch("--memory-report", help="cli.option.memory-report")
@switch("--comm-report", help="cli.option.comm-report")
@switch("--fusion-report", help="cli.option.fusion-report")
@click.option("--explain", metavar="RULE", help="cli.option.explain")
@click.option("--threshold", "threshold_options", multiple=True, metavar="RULE.NAME=N", help="cli.option.threshold")
@rules_option()
@click.option("--fail-on", type=click.Choice(["critical", "warning", "info", "never"]), help="cli.option.fail-on")
def analyze(
    *,
    paths: tuple[Path, ...],
    input_paths: tuple[Path, ...],
    job: str | None,
    redact: bool,
    output: Path | None,
    output_format: str | None,
    top_k: int | None,
    op_time_threshold: float | None,
    memory_report: bool,
    comm_report: bool,
    fusion_report: bool,
    explain: str | None,
    threshold_options: tuple[str, ...],
    rule_places: tuple[str, ...],
    fail_on: str | None,
    strict: bool,
    cache_dir: Path | None,
    language: Language,
) -> int:
    """Say where the time of a run goes and what to do; exit 1 at `fail_on`, and with `strict` when data are damaged."""
    from ascend_sn.advisor.rulebook import Rulebook, rules_of
    from ascend_sn.advisor.thresholds import Thresholds
    from ascend_sn.report.documents.views import selection_of, view_of

    named = input_of(paths, input_paths)
    if output is not None:
        check_output(output)
    book = Rulebook(rules_of(rule_places))
    thresholds = Thresholds.in_force(Path.cwd(), threshold_options, book.limits)
    rule = None if explain is None else check_rule(explain, book)
    view = view_of(memory=memory_report, communication=comm_report, fusion=fusion_report, top_k=top_k)
    screen_only = output is None and output_format != "json"
    selection = selection_of(
        view=view,
        threshold_ms=op_time_threshold,
        screen_only=screen_only,
        advice=not (screen_only and view.chosen) or rule is not None or fail_on is not None,
        thresholds=thresholds,
        rules=tuple(book.own.values()),
    )
    document = document_of(named, language, cache_dir=cache_dir, selection=selection, job=job, redact=redact)
    if output is not None:
        write_document(document, output, language, view)
        print(language.text("say.written", path=output), file=sys.stderr)
    if rule is not None and output_format != "json":
        print_explanation(document, rule, book, thresholds, language)
    elif output is None or output_format is not None:
        print_document(document, language, view, output_format)
    reached = [finding.id for finding in document.findings.rows if reaches(finding.severity, fail_on)]
    if reached:
        print(language.text("say.fail-on", level=fail_on, rules=", ".join(reached)), file=sys.stderr)
    return 1 if reached or (strict and document.health.damage_count) else 0
