"""Which runs of a history a candidate is held against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ascend_sn.compare.figures import RunFigures
from ascend_sn.compare.history.level_changes import WINDOW, level_changes
from ascend_sn.compare.history.record import Baseline, ChosenBy, Record, identity_of, setup_of
from ascend_sn.compare.history.store import History
from ascend_sn.compare.settings_file import FILE_NAME, settings_table, with_variables
from ascend_sn.errors import NoBaselineError, UsageError
from ascend_sn.store.environment import history_file, history_place

__all__ = ["HistorySettings", "baseline_of"]

DEFAULT_SERIES: Final = "default"
DEFAULT_RUNS: Final = 20
"""Runs of a history that make the baseline: enough for one run of a candidate to be told apart."""

_PINNED: Final = "pinned"
_MAIN: Final = "step_time"
_KNOWN: Final = ("url", "series", "runs")


@dataclass(frozen=True)
class HistorySettings:
    """Where the history is, and what of it is looked at.

    Attributes:
        place: File or URL.
        is_named: Whether somebody named it: in the settings file, the environment, or on the command line.
        series: Which series.
        runs: How many runs make the baseline.
    """

    place: str
    is_named: bool
    series: str
    runs: int

    @classmethod
    def in_force(
        cls, folder: Path, *, place: str | None = None, series: str | None = None, runs: int | None = None
    ) -> HistorySettings:
        """Return what the command line says, else `ASCEND_SN_HISTORY`, else `[history]` of the settings, else defaults.

        Raises:
            UsageError: The file sets something that is not there, or names a variable that is not set.
        """
        path = folder / FILE_NAME
        table = settings_table(path, "history", _KNOWN)
        for name, kind in (("url", str), ("series", str), ("runs", int)):
            if name in table and (not isinstance(table[name], kind) or isinstance(table[name], bool)):
                raise UsageError(f"{path}: [history] {name} is no {'number' if kind is int else 'text'}")
        number = runs or table.get("runs", DEFAULT_RUNS)
        if number < 1:
            raise UsageError(f"{path}: [history] runs is at least 1")
        named = place or history_place()
        if named is None and "url" in table:
            named, missing = with_variables(table["url"])
            if missing:
                raise UsageError(f"{path}: [history] url names the variable {missing[0]}, which is not set")
        return cls(
            place=named or str(history_file()),
            is_named=named is not None,
            series=series or table.get("series") or DEFAULT_SERIES,
            runs=number,
        )


def baseline_of(
    history: History, candidates: Sequence[RunFigures], *, series: str, runs: int
) -> tuple[Baseline, list[RunFigures]]:
    """Choose the runs of a series that candidates are held against.

    Runs of the candidates' own setup where there are any; never the candidates themselves. Of these the pinned ones;
    where none is pinned the newest `runs` that the gate neither failed nor called possibly worse, but none from before
    the last lasting change of the step time, to which the baseline then belongs no more.

    Raises:
        NoBaselineError: The series holds no run that could be a baseline.
    """
    records = history.records(series)
    if not records:
        known = ", ".join(history.series()) or "none"
        raise NoBaselineError(history.where, f"no run in the series {series!r}; known series: {known}")
    own = {identity_of(one) for one in candidates}
    identities = history.identities(records)
    others = [one for one in records if identities[one.id] not in own]
    alike = [one for one in others if one.setup in {setup_of(one) for one in candidates}] or others
    pinned = [one for one in alike if one.pinned]
    accepted = [one for one in alike if one.verdict not in ("failed", "possible")]
    if not (pinned or accepted):
        raise NoBaselineError(history.where, f"no run in the series {series!r} that could be a baseline")
    chosen, how = _newest(accepted, runs) if not pinned else (pinned, _PINNED)
    # Of another setup than the candidates' all are of one: the newest one's.
    chosen = [one for one in chosen if one.setup == chosen[-1].setup]
    baseline = Baseline(where=history.where, series=series, chosen_by=how, runs=chosen)
    return baseline, history.figures(chosen)


def _newest(records: Sequence[Record], runs: int) -> tuple[list[Record], ChosenBy]:
    timed = [one for one in records[-2 * WINDOW :] if _MAIN in one.values]
    changes = level_changes([one.values[_MAIN] for one in timed])
    first = timed[changes[-1].place].id if changes else 0
    chosen = [one for one in records if one.id >= first][-runs:]
    return chosen, "level" if changes and len(chosen) < runs else "newest"
