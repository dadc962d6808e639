"""`ascend-sn report`: the run as one self-contained file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from ascend_sn.cli.command import ANY_PATH, GuideCommand, common_options, job_option, redact_option, rules_option
from ascend_sn.cli.opening import document_of, input_of
from ascend_sn.cli.output import check_output, print_document, write_document
from ascend_sn.errors import UsageError
from ascend_sn.report.words.language import Language
from ascend_sn.store.input import Input

DEFAULT_NAME: Final = "ascend-sn-report.html"


@click.command(cls=GuideCommand)
@common_options()
@job_option()
@redact_option()
@click.option("--output", type=ANY_PATH, metavar="FILE", help="cli.option.report-output")
@click.option("--top-k", type=click.IntRange(min=1), metavar="N", help="cli.option.top-k")
@rules_option()
def report(
    *,
    paths: tuple[Path, ...],
    input_paths: tuple[Path, ...],
    job: str | None,
    redact: bool,
    output: Path | None,
    output_format: str | None,
    top_k: int | None,
    rule_places: tuple[str, ...],
    strict: bool,
    cache_dir: Path | None,
    language: Language,
) -> int:
    """Write the report of a run; exit 1 with `strict` when data are damaged."""
    from ascend_sn.advisor.rulebook import Rulebook, rules_of
    from ascend_sn.advisor.thresholds import Thresholds
    from ascend_sn.report.documents.views import View, selection_of

    named = input_of(paths, input_paths)
    target = output or _default_output(named)
    check_output(target)
    book = Rulebook(rules_of(rule_places))
    view = View(top_k=top_k)
    selection = selection_of(
        view=view,
        thresholds=Thresholds.in_force(Path.cwd(), own=book.limits),
        rules=tuple(book.own.values()),
    )
    document = document_of(named, language, cache_dir=cache_dir, selection=selection, job=job, redact=redact)
    write_document(document, target, language, view)
    if output_format == "json":
        print_document(document, language, view, output_format)
    else:
        for statement in document.verdict:
            print(statement.text)
    print(language.text("say.written", path=target), file=sys.stderr)
    return 1 if strict and document.health.damage_count else 0


def _default_output(named: Input) -> Path:
    """The file in the current folder; the input is written into only when the user names a file there."""
    if named.holds(Path.cwd()):
        raise UsageError(f"the current folder lies in the input {named.name}; name a file with --output")
    return Path(DEFAULT_NAME)
