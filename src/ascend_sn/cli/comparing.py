"""Open and measure the runs that `compare` and `gate` name; figures of an unchanged input are taken up again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from ascend_sn.cli.opening import short_process
from ascend_sn.cli.waiting import Waiting
from ascend_sn.cluster.choice import as_fits
from ascend_sn.errors import StoreError, UsageError
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable
from ascend_sn.store import Location, locate
from ascend_sn.store.fingerprint import code_state
from ascend_sn.store.jobs import jobs_of
from ascend_sn.store.upgrade import load_manifest

if TYPE_CHECKING:
    from ascend_sn.compare.audit import Audit
    from ascend_sn.compare.comparison import Comparison
    from ascend_sn.compare.figures import RunFigures
    from ascend_sn.compare.fused import FusedChanges
    from ascend_sn.compare.recovery import Recovery
    from ascend_sn.model.manifest import Manifest
    from ascend_sn.report.documents.comparison import ComparisonDocument
    from ascend_sn.store.redaction import Redactor

__all__ = [
    "Side",
    "audit_of",
    "comparison_of",
    "fused_of",
    "measured_side",
    "recoveries_of",
    "redacted_side",
    "redacted_sides",
    "redactor_here",
    "shown",
]

_Document = TypeVar("_Document")


@dataclass(frozen=True)
class _Job:
    """One job of an input, measured."""

    location: Location
    job: str
    figures: RunFigures
    original: RunFigures | None = None
    """The figures as they were measured, where `figures` hold stand-ins."""


@dataclass(frozen=True)
class Side:
    """The runs of one side."""

    jobs: tuple[_Job, ...]

    @property
    def figures(self) -> list[RunFigures]:
        """The figures of its runs, in the order of the command line."""
        return [job.figures for job in self.jobs]

    @property
    def originals(self) -> list[RunFigures]:
        """The figures as they were measured, which tell whether two runs are the same capture."""
        return [job.original or job.figures for job in self.jobs]


def measured_side(paths: Sequence[Path], language: Language, *, cache_dir: Path | None) -> Side:
    """Open and measure the inputs of a side; one that holds several jobs counts as so many runs.

    Raises:
        UsageError: No input.
        AscendSnError: One that cannot be read.
    """
    if not paths:
        raise UsageError("no input: name the runs to compare")
    jobs: list[_Job] = []
    for path in paths:
        with short_process(), Waiting(language.text("say.reading", name=path.name)) as waiting:
            location = locate(path, cache_dir=cache_dir, progress=waiting.reading, mapping=as_fits)
            try:
                jobs += _jobs(location, path, waiting, language, cache_dir)
            except StoreError:
                if not location.discard():
                    raise
                location = locate(path, cache_dir=cache_dir, progress=waiting.reading, mapping=as_fits)
                jobs += _jobs(location, path, waiting, language, cache_dir)
    return Side(tuple(jobs))


def comparison_of(
    baseline: Sequence[Path],
    candidate: Sequence[Path],
    language: Language,
    *,
    cache_dir: Path | None,
    redact: bool = False,
) -> ComparisonDocument:
    """Compare two sides by the limits in force here; without what only `compare` tells: recoveries, audit, fusion."""
    began = time.perf_counter_ns()
    from ascend_sn.compare.comparison import compared
    from ascend_sn.compare.settings import GateSettings
    from ascend_sn.report.documents.comparison import comparison_document

    base, other = (measured_side(paths, language, cache_dir=cache_dir) for paths in (baseline, candidate))
    document = comparison_document(
        compared(base.figures, other.figures, GateSettings.in_force(Path.cwd()).limits),
        base.figures,
        other.figures,
        language,
        analysis_ns=time.perf_counter_ns() - began,
    )
    return redacted_sides(document, base, other) if redact else document


def recoveries_of(comparison: Comparison, side: Side, *, cache_dir: Path | None) -> list[Recovery]:
    """Say of a regression what restoring each large cause recovers, by replay of the candidate."""
    if comparison.verdict not in ("regression", "possible") or comparison.attribution is None:
        return []
    from ascend_sn.analysis.opening import opened_for
    from ascend_sn.compare.restore import recoveries

    job = _standing(comparison, side, "candidate")
    if job is None:
        return []
    opened = partial(opened_for, job.location, job=job.job or None, mapping=as_fits, cache_dir=cache_dir)
    with short_process():
        return recoveries(opened, job.figures, comparison.attribution)


def fused_of(comparison: Comparison, base: Side, candidate: Side) -> FusedChanges | None:
    """Say which chains of kernels were fused or split between the runs that stand for their sides.

    None where the sides cannot be compared, nothing says which run stands for one, or a run has no kernels.
    """
    if comparison.verdict == "cannot compare":
        return None
    from ascend_sn.compare.fused_runs import fused_between

    own, its = _standing(comparison, base, "base"), _standing(comparison, candidate, "candidate")
    if own is None or its is None:
        return None
    with short_process():
        return fused_between((own.location, own.job or None), (its.location, its.job or None))


def _standing(comparison: Comparison, side: Side, name: Literal["base", "candidate"]) -> _Job | None:
    if len(side.jobs) == 1:
        return side.jobs[0]
    from ascend_sn.compare.comparison import representative

    at = representative(comparison, side.figures, name)
    return None if at is None else side.jobs[at]


def audit_of(
    comparison: Comparison, base: Side, candidate: Side, applied: Sequence[str], *, cache_dir: Path | None, now_ns: int
) -> Audit | None:
    """Hold what the advisor predicted for the baseline against the candidate, and log what came of `applied` changes.

    Raises:
        UsageError: Changes are named, but nothing was predicted for this baseline.
    """
    from ascend_sn.compare.audit import audit
    from ascend_sn.store.calibration import CALIBRATION_VERSION, Outcome, log_outcomes
    from ascend_sn.store.predictions import kept_predictions

    predictions = None
    if len(base.jobs) == 1:
        one = base.jobs[0]
        predictions = kept_predictions(one.location, job=one.job, cache_dir=cache_dir)
    found = None if predictions is None else audit(predictions, comparison, applied)
    if found is None:
        if applied:
            raise UsageError("--applied: nothing was predicted for this baseline; analyze it first")
        return None
    outcomes = [
        Outcome(
            version=CALIBRATION_VERSION,
            logged_ns=now_ns,
            rule=row.rule,
            change=row.change,
            confidence=row.confidence,
            low_ns=row.low_ns,
            expected_ns=row.expected_ns,
            high_ns=row.high_ns,
            real_ns=found.real_ns,
            base_ns=found.base_ns,
            baseline=base.figures[0].name,
            candidate=candidate.figures[0].name,
        )
        for row in found.rows
        if row.verdict is not None
    ]
    if outcomes:
        log_outcomes(outcomes, cache_dir=cache_dir)
    return found


def redacted_sides(document: ComparisonDocument, base: Side, candidate: Side) -> ComparisonDocument:
    """Return the document with stand-ins for the paths, users and hosts of both sides."""
    from ascend_sn.report.documents.redacted import redacted

    redactor = redactor_here()
    for side in (base, candidate):
        _learn_side(redactor, side)
    return redacted(document, redactor)


def redactor_here() -> Redactor:
    """Return a redactor that knows the hosts and users of this machine."""
    from ascend_sn.store.redaction import Redactor, of_this_machine

    hosts, users = of_this_machine()
    return Redactor(hosts=hosts, users=users)


def redacted_side(side: Side, redactor: Redactor) -> Side:
    """Return a side with stand-ins in its figures, as they are compared and recorded from now on.

    Only the name of a run is from `redactor`. The rest counts its stand-ins for itself and in the order of the texts:
    what two runs of a program have in common is called the same, whenever they are recorded.
    """
    from ascend_sn.report.documents.redacted import redacted

    _learn_side(redactor, side)
    jobs = []
    for job in side.jobs:
        own = redactor_here()
        _learn_side(own, Side((job,)))
        figures = redacted(msgspec.structs.replace(job.figures, name=""), own, in_order=True)
        name = redactor.place(job.figures.name)
        jobs.append(replace(job, figures=msgspec.structs.replace(figures, name=name), original=job.figures))
    return Side(tuple(jobs))


def shown(document: _Document, redactor: Redactor | None) -> _Document:
    """Return a document as it is shown: with stand-ins where there is a redactor."""
    if redactor is None:
        return document
    from ascend_sn.report.documents.redacted import redacted

    return redacted(document, redactor)


def _learn_side(redactor: Redactor, side: Side) -> None:
    from ascend_sn.store import Run
    from ascend_sn.store.redacted_run import learn_run

    for job in side.jobs:
        with Run(job.location.folder, job.location.input) as run:
            learn_run(redactor, run)


def _jobs(location: Location, path: Path, waiting: Waiting, language: Language, cache_dir: Path | None) -> list[_Job]:
    manifest = load_manifest(location.folder)
    names = jobs_of(manifest)
    called = printable(str(path))
    found = []
    for name in names:
        waiting.tell(language.text("say.analysing"))
        shown = called if len(names) == 1 else f"{called}:{printable(name)}"
        job = name if len(names) > 1 else None
        figures = _figures(location, manifest, job, shown, cache_dir=cache_dir)
        found.append(_Job(location, name, figures))
    return found


def _figures(
    location: Location, manifest: Manifest, job: str | None, name: str, *, cache_dir: Path | None
) -> RunFigures:
    """Measure a job, or take up its figures where neither the input nor the code changed."""
    from ascend_sn.compare.figures import RunFigures

    of_job = sha256((job or "").encode()).hexdigest()[:12]
    key = f"figures-{of_job}-{code_state()}.json"
    kept = location.stored(key)
    if kept is not None:
        try:
            return msgspec.structs.replace(msgspec.json.decode(kept, type=RunFigures), name=name)
        except (msgspec.MsgspecError, RecursionError):  # a full disk or a crash left something else in its place
            pass
    figures = _measured(location, manifest, job, name, cache_dir)
    location.keep(key, msgspec.json.encode(figures))
    return figures


def _measured(location: Location, manifest: Manifest, job: str | None, name: str, cache_dir: Path | None) -> RunFigures:
    from ascend_sn.analysis.opening import opened_for
    from ascend_sn.compare.measure import figures_of
    from ascend_sn.store.damage import told_damage

    with (
        opened_for(location, job=job, mapping=as_fits, cache_dir=cache_dir, details=False, manifest=manifest) as run,
        told_damage(run),
    ):
        return figures_of(run, name)
