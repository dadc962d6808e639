"""What the actions of `history` do: from their words to the document that is shown."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ascend_sn.cli.comparing import Side, measured_side, redacted_side
from ascend_sn.compare.history.baseline import HistorySettings
from ascend_sn.compare.history.record import Record, Verdict, identity_of
from ascend_sn.compare.history.store import History
from ascend_sn.compare.metrics import metric_of
from ascend_sn.errors import EmptyInputError, UsageError
from ascend_sn.report.documents.history import HistoryDocument, TrendDocument, history_document, trend_document
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable
from ascend_sn.store.environment import program_version
from ascend_sn.store.redaction import Redactor

__all__ = ["Told", "by_number", "keep_side", "listed", "pruned", "recorded", "trend"]


@dataclass(frozen=True)
class Told:
    """What is told beside a run; revision and branch are those of the pipeline where nothing is told."""

    revision: str | None = None
    branch: str | None = None
    note: str | None = None
    pinned: bool = False


def recorded(
    settings: HistorySettings,
    paths: Sequence[Path],
    told: Told,
    *,
    now_ns: int,
    cache_dir: Path | None,
    language: Language,
    redactor: Redactor | None = None,
) -> HistoryDocument:
    """Measure runs and record them, with stand-ins where there is a redactor; they count as baselines.

    Raises:
        UsageError: No run is named.
    """
    if not paths:
        raise UsageError("no run: name what to record")
    side = measured_side(paths, language, cache_dir=cache_dir)
    if redactor is not None:
        side = redacted_side(side, redactor)
    with History(settings.place) as history:
        records = keep_side(
            history, settings.series, side, told, None, now_ns=now_ns, language=language, redactor=redactor
        )
        return history_document(history.where, history.series(), records, language)


def keep_side(
    history: History,
    series: str,
    side: Side,
    told: Told,
    verdict: Verdict | None,
    *,
    now_ns: int,
    language: Language,
    redactor: Redactor | None = None,
) -> list[Record]:
    """Record the runs of a side, and say which of them were there already.

    With a redactor what is told beside them has stand-ins too.

    Raises:
        EmptyInputError: A run without steps: nothing could be compared with it.
    """
    for figures in side.figures:
        if not figures.steps:
            raise EmptyInputError(figures.name, "holds no step that could be compared")
    revision, branch = program_version()
    records = []
    for job, original in zip(side.jobs, side.originals, strict=True):
        added = history.add(
            job.figures,
            series=printable(series),
            now_ns=now_ns,
            revision=_text(told.revision, redactor) or _text(revision, redactor),
            branch=_text(told.branch, redactor) or _text(branch, redactor),
            note=_text(told.note, redactor),
            verdict=verdict,
            pinned=told.pinned,
            identity=identity_of(original),
        )
        if not added.is_new:
            print(language.text("history.known", run=_text(added.record.label, redactor)), file=sys.stderr)
        records.append(added.record)
    return records


def listed(settings: HistorySettings, series: str | None, newest: int | None, language: Language) -> HistoryDocument:
    """List the runs of a series, of all where none is named."""
    with History(settings.place) as history:
        return history_document(history.where, history.series(), history.records(series, newest=newest), language)


def by_number(
    settings: HistorySettings, action: Literal["show", "pin", "unpin"], numbers: Sequence[int], language: Language
) -> HistoryDocument:
    """Show runs, pin them or let them go."""
    with History(settings.place) as history:
        if action == "show":
            records = [history.record(number) for number in numbers]
        else:
            history.series()  # a history that is not there is not made by pinning in it
            records = history.pin(numbers, pinned=action == "pin")
        return history_document(history.where, history.series(), records, language)


def pruned(
    settings: HistorySettings, series: str | None, *, keep: int | None, before_ns: int | None, language: Language
) -> HistoryDocument:
    """Remove old runs of a series, or of each: those before a time, with `keep` only those beyond the newest so many.

    Raises:
        UsageError: Nothing says what stays.
    """
    if keep is None and before_ns is None:
        raise UsageError("history prune: say what stays, with --keep N, --older-than DAYS or both")
    with History(settings.place) as history:
        history.series()  # a history that is not there is not made by removing from it
        removed = history.prune(series, keep=keep, before_ns=before_ns)
        return history_document(history.where, history.series(), [], language, removed=removed)


def trend(settings: HistorySettings, metrics: Sequence[str], newest: int | None, language: Language) -> TrendDocument:
    """Look at how the metrics of a series developed."""
    names = [metric_of(name).name for name in metrics]
    with History(settings.place) as history:
        records = history.records(settings.series, newest=newest)
        return trend_document(history.where, settings.series, records, language, names)


def _text(text: str | None, redactor: Redactor | None) -> str | None:
    if text is None:
        return None
    return printable(text if redactor is None else redactor.text(text))
