"""Open the run that a command names, telling the reader what takes long."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.cli.waiting import Waiting
from ascend_sn.cluster.choice import as_fits
from ascend_sn.errors import StoreError, UsageError
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable
from ascend_sn.store import Location, locate
from ascend_sn.store.fingerprint import code_state
from ascend_sn.store.input import Input
from ascend_sn.store.jobs import jobs_of, newest_job
from ascend_sn.store.predictions import keep_predictions
from ascend_sn.store.upgrade import load_manifest

# What documents are made of loads DuckDB: only when one is made.
if TYPE_CHECKING:
    from ascend_sn.report.documents.run import Document
    from ascend_sn.report.documents.views import Selection
    from ascend_sn.store.ingest import Progress

__all__ = ["document_at", "document_of", "input_of", "page_selection", "short_process"]

_PAGE_ROWS: Final = 500
_BLAS_THREADS: Final = "OPENBLAS_NUM_THREADS"


def input_of(paths: Sequence[Path], input_paths: Sequence[Path] = ()) -> Input:
    """Return the input given as arguments or with `--input`; they mean the same.

    Raises:
        UsageError: None is given, or an empty text.
    """
    found = (*paths, *input_paths)
    if any(str(path) == "." for path in found) and "" in sys.argv:
        raise UsageError("the input is an empty text; is a variable unset?")
    if not found:
        raise UsageError("no input: name a file or folder, or use --input PATH")
    return Input.of(found)


def document_of(
    named: Input,
    language: Language,
    *,
    cache_dir: Path | None,
    selection: Selection | None = None,
    job: str | None = None,
    redact: bool = False,
) -> Document:
    """Read and analyse a run, or take up what was kept of the last time when neither the input nor the code changed.

    Of an input that holds several jobs, `job` is shown, else the newest, which is then said. With `redact`
    paths, users and hosts have stand-ins.
    """
    chosen = selection or _everything()
    with short_process(), Waiting(language.text("say.reading", name=named.name)) as waiting:
        location = locate(named.paths, cache_dir=cache_dir, progress=waiting.reading, mapping=as_fits)
        try:
            document = _document(location, language, chosen, job, waiting, cache_dir)
        except StoreError:
            if not location.discard():
                raise
            location = locate(named.paths, cache_dir=cache_dir, progress=waiting.reading, mapping=as_fits)
            document = _document(location, language, chosen, job, waiting, cache_dir)
    if document.jobs and job is None:
        jobs = {"count": len(document.jobs), "jobs": ", ".join(document.jobs), "job": document.job}
        print(printable(language.text("say.jobs", **jobs)), file=sys.stderr)
    return _redacted(document, location) if redact else document


def document_at(
    location: Location,
    language: Language,
    *,
    cache_dir: Path | None,
    selection: Selection,
    job: str | None,
    progress: Progress,
    first: Callable[[], None] | None = None,
) -> Document:
    """Do the same for a run that was read already: to look whether its input changed takes seconds for many ranks.

    `progress` is told which part of the document is worked out, and how many are done. Where none is kept, `first` is
    called, which may keep one.
    """
    with short_process(), Waiting(language.text("say.reading", name=location.input.name)) as waiting:
        return _document(location, language, selection, job, waiting, cache_dir, progress, first)


def page_selection() -> Selection:
    """Return what the web page shows of a run."""
    from ascend_sn.report.documents.views import SECTIONS, Selection

    return Selection(top_k=_PAGE_ROWS, details=frozenset(SECTIONS) - {"timeline"})


def _redacted(document: Document, location: Location) -> Document:
    from ascend_sn.report.documents.redacted import redacted
    from ascend_sn.store import Run
    from ascend_sn.store.redacted_run import redactor_of

    with Run(location.folder, location.input) as run:
        return redacted(document, redactor_of(run))


@contextmanager
def short_process() -> Iterator[None]:
    """Spare the process threads for matrix products, which only long ones gain by.

    numpy's matrix library reads the variable, and starts its threads, when numpy is first imported.
    """
    before = os.environ.get(_BLAS_THREADS)
    os.environ[_BLAS_THREADS] = before or "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_BLAS_THREADS]


def _document(
    location: Location,
    language: Language,
    selection: Selection,
    job: str | None,
    waiting: Waiting,
    cache_dir: Path | None,
    progress: Progress | None = None,
    first: Callable[[], None] | None = None,
) -> Document:
    manifest = load_manifest(location.folder)
    jobs = jobs_of(manifest)
    if job is not None and len(jobs) == 1:
        raise UsageError(f"the input holds one job only; leave out --job {job}")
    shown = job if job is not None else newest_job(manifest)
    chosen_job = sha256(shown.encode()).hexdigest()[:12]
    details = "".join(sorted(name[:4] for name in selection.details))
    rows = f"{selection.top_k}-{selection.op_time_threshold_ns}-{details}"
    if not selection.advice:
        rows += "-no-advice"
    elif selection.thresholds is not None and selection.thresholds.changed:
        rows += f"-{sha256(selection.thresholds.key.encode()).hexdigest()[:12]}"
    name = f"analyze-{chosen_job}-{language.code}-{rows}-{code_state()}.json"
    kept = None if selection.rules else location.stored(name)  # what rules of the user say depends on their code
    document = None if kept is None else _decoded(kept)
    if document is None and first is not None:
        first()
        kept = location.stored(name)
        document = None if kept is None else _decoded(kept)
    if document is None:
        waiting.tell(language.text("say.analysing"))
        chosen = shown if len(jobs) > 1 else None
        document = _assembled(location, language, selection, chosen, waiting, cache_dir, progress)
        if not selection.rules:
            location.keep(name, msgspec.json.encode(document))
        if selection.advice:
            from ascend_sn.report.documents.predictions import predictions_of

            keep_predictions(location, predictions_of(document, time.time_ns()), cache_dir=cache_dir)
    return document


def _assembled(
    location: Location,
    language: Language,
    selection: Selection,
    job: str | None,
    waiting: Waiting,
    cache_dir: Path | None,
    progress: Progress | None,
) -> Document:
    from ascend_sn.report.assemble.run import assemble, opened_for
    from ascend_sn.store.damage import told_damage

    opened = opened_for(location, job=job, mapping=as_fits, cache_dir=cache_dir, progress=waiting.reading)
    with opened as run, told_damage(run):
        return assemble(run, language, selection, progress=progress)


def _everything() -> Selection:
    from ascend_sn.report.documents.views import Selection

    return Selection()


def _decoded(kept: bytes) -> Document | None:
    """Return the kept document; None when a full disk or a crash left something else in its place."""
    from ascend_sn.report.documents.run import Document

    try:
        return msgspec.json.decode(kept, type=Document)
    except (msgspec.MsgspecError, RecursionError):
        return None
