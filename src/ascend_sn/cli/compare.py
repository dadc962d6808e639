"""`ascend-sn compare BASE CAND`: what changed between two runs, or two groups of runs, and what it is made of."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ascend_sn.cli.command import ANY_PATH, GuideCommand, language_option, redact_option, switch
from ascend_sn.cli.comparing import audit_of, fused_of, measured_side, recoveries_of, redacted_sides
from ascend_sn.cli.output import check_output, write_text
from ascend_sn.errors import NotComparableError, UsageError
from ascend_sn.report.words.language import Language

if TYPE_CHECKING:
    from ascend_sn.compare.comparison import Comparison
    from ascend_sn.report.documents.comparison import ComparisonDocument

SUFFIXES: Final = (".html", ".md", ".json")


@click.command(cls=GuideCommand)
@click.argument("runs", nargs=-1, metavar="BASE CAND", type=ANY_PATH)
@click.option("--baseline", multiple=True, type=ANY_PATH, metavar="PATH", help="cli.option.baseline")
@click.option("--candidate", multiple=True, type=ANY_PATH, metavar="PATH", help="cli.option.candidate")
@click.option("--limit", "limits", multiple=True, metavar="METRIC=N", help="cli.option.limit")
@click.option("--applied", multiple=True, metavar="RULE", help="cli.option.applied")
@click.option("--top-k", type=click.IntRange(min=1), metavar="N", help="cli.option.compare-top-k")
@click.option("--output", type=ANY_PATH, metavar="FILE", help="cli.option.compare-output")
@click.option("--format", "output_format", type=click.Choice(["text", "json", "md"]), help="cli.option.compare-format")
@switch("--require-confidence", help="cli.option.require-confidence")
@switch("--strict", help="cli.option.compare-strict")
@redact_option()
@click.option("--cache-dir", type=ANY_PATH, metavar="DIR", help="cli.option.cache-dir")
@language_option()
def compare(
    *,
    runs: tuple[Path, ...],
    baseline: tuple[Path, ...],
    candidate: tuple[Path, ...],
    limits: tuple[str, ...],
    applied: tuple[str, ...],
    top_k: int | None,
    output: Path | None,
    output_format: str | None,
    require_confidence: bool,
    strict: bool,
    redact: bool,
    cache_dir: Path | None,
    language: Language,
) -> int:
    """Compare two runs; exit 1 for a regression, 3 where they cannot be compared."""
    began = time.perf_counter_ns()
    from ascend_sn.compare.comparison import compared
    from ascend_sn.compare.settings import GateSettings
    from ascend_sn.report.documents.comparison import DEFAULT_ROWS, comparison_document

    base_paths, candidate_paths = _sides(runs, baseline, candidate)
    if output is not None:
        check_output(output, SUFFIXES)
    settings = GateSettings.in_force(Path.cwd()).with_limits(limits)
    base = measured_side(base_paths, language, cache_dir=cache_dir)
    other = measured_side(candidate_paths, language, cache_dir=cache_dir)
    comparison = compared(base.figures, other.figures, settings.limits)
    document = comparison_document(
        comparison,
        base.figures,
        other.figures,
        language,
        recoveries=recoveries_of(comparison, other, cache_dir=cache_dir),
        fused=fused_of(comparison, base, other),
        predictions=audit_of(comparison, base, other, applied, cache_dir=cache_dir, now_ns=time.time_ns()),
        rows=top_k or DEFAULT_ROWS,
        analysis_ns=time.perf_counter_ns() - began,
    )
    if redact:
        document = redacted_sides(document, base, other)
    if output is not None:
        _save(document, output, language)
    if output is None or output_format is not None:
        _print(document, output_format, top_k, language)
    return _exit_code(comparison, strict=strict, require_confidence=require_confidence)


def _sides(
    runs: tuple[Path, ...], baseline: tuple[Path, ...], candidate: tuple[Path, ...]
) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Two runs, or groups by options; beside `--baseline` what stands alone belongs to the candidate."""
    if not baseline and not candidate:
        if len(runs) != 2:
            raise UsageError("name two runs, BASE and CAND; groups of runs with --baseline PATH and --candidate PATH")
        return runs[:1], runs[1:]
    candidates = (*candidate, *runs)
    if not baseline or not candidates:
        raise UsageError(f"no {'candidate' if baseline else 'baseline'}: both sides need a run")
    return baseline, candidates


def _print(document: ComparisonDocument, output_format: str | None, top_k: int | None, language: Language) -> None:
    if output_format == "json":
        from ascend_sn.report.documents.as_json import json_text

        sys.stdout.write(json_text(document))
    elif output_format == "md":
        from ascend_sn.report.markdown.comparison import comparison_markdown

        sys.stdout.write(comparison_markdown(document, language))
    else:
        from ascend_sn.report.terminal.comparison import write_comparison

        write_comparison(document, language, sys.stdout, rows=top_k)


def _save(document: ComparisonDocument, output: Path, language: Language) -> None:
    if output.suffix.lower() == ".json":
        from ascend_sn.report.documents.as_json import json_text

        text = json_text(document)
    elif output.suffix.lower() == ".html":
        from ascend_sn.report.html.comparison import comparison_html

        text = comparison_html(document, language)
    else:
        from ascend_sn.report.markdown.comparison import comparison_markdown

        text = comparison_markdown(document, language)
    write_text(output, text)
    print(language.text("say.written", path=output), file=sys.stderr)


def _exit_code(comparison: Comparison, *, strict: bool, require_confidence: bool) -> int:
    if comparison.verdict == "cannot compare":
        return NotComparableError.exit_code
    if comparison.verdict in ("scaling", "regression"):
        return 1 if comparison.verdict == "regression" else 0
    unsure = comparison.verdict in ("possible", "inconclusive")
    low = require_confidence and comparison.confidence == "low"
    return 1 if low or (unsure and (strict or require_confidence)) else 0
