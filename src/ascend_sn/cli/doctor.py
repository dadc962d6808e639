"""`ascend-sn doctor`: whether the data can be believed, and what was not collected."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ascend_sn.cli.command import GuideCommand, common_options, job_option, redact_option
from ascend_sn.cli.opening import document_of, input_of
from ascend_sn.report.words.language import Language


@click.command(cls=GuideCommand)
@common_options()
@job_option()
@redact_option()
def doctor(
    *,
    paths: tuple[Path, ...],
    input_paths: tuple[Path, ...],
    job: str | None,
    redact: bool,
    output_format: str | None,
    strict: bool,
    cache_dir: Path | None,
    language: Language,
) -> int:
    """List damage, contradictions, ranks, and what was not collected; exit 1 with `strict` when data are damaged."""
    from ascend_sn.report.documents.as_json import json_text
    from ascend_sn.report.documents.views import Selection
    from ascend_sn.report.health_page import doctor_document, write_health

    selection = Selection(details=frozenset(), advice=False)
    document = document_of(
        input_of(paths, input_paths), language, cache_dir=cache_dir, selection=selection, job=job, redact=redact
    )
    if output_format == "json":
        sys.stdout.write(json_text(doctor_document(document)))
    else:
        write_health(document, language, sys.stdout)
    return 1 if strict and document.health.damage_count else 0
