"""Where `gate` takes its baseline from: runs that are named, or a history; and keeping what was judged."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_sn.cli.comparing import Side, measured_side, redacted_side
from ascend_sn.errors import NoBaselineError, UsageError
from ascend_sn.report.words.language import Language

if TYPE_CHECKING:
    from ascend_sn.compare.figures import RunFigures
    from ascend_sn.compare.gate import GateResult
    from ascend_sn.compare.history.baseline import HistorySettings
    from ascend_sn.compare.history.record import Baseline, Verdict
    from ascend_sn.store.redaction import Redactor

__all__ = ["BaselineSource"]


@dataclass(frozen=True)
class BaselineSource:
    """What the command line says of the baseline.

    Attributes:
        paths: Runs that are named.
        history: The history that the runs come from, or the candidate is recorded in; None: neither.
        record: Whether the candidate is recorded.
        redactor: Gives stand-ins in all that is shown and recorded; None: nothing has any.
    """

    paths: tuple[Path, ...]
    history: HistorySettings | None
    record: bool
    redactor: Redactor | None = None

    @classmethod
    def of(
        cls,
        paths: tuple[Path, ...],
        *,
        place: str | None,
        series: str | None,
        runs: int | None,
        record: bool,
        redactor: Redactor | None = None,
    ) -> BaselineSource:
        """Read the options.

        Raises:
            UsageError: Neither runs nor a history, or both, or what can be none.
        """
        if paths and place is not None and not record:
            raise UsageError("two baselines: name runs with --baseline, or a history with --history")
        if paths and not record:
            return cls(paths, None, False, redactor)
        from ascend_sn.compare.history.baseline import HistorySettings

        history = HistorySettings.in_force(Path.cwd(), place=place, series=series, runs=runs)
        if not paths and not history.is_named:
            raise UsageError("no baseline: name it with --baseline PATH, or a history with --history FILE|URL")
        from ascend_sn.compare.history.store import History

        with History(history.place):  # what cannot be a history is told before the runs are measured
            return cls(paths, history, record, redactor)

    def runs_for(
        self, candidates: Side | None, language: Language, *, cache_dir: Path | None
    ) -> tuple[list[RunFigures], Baseline | None]:
        """Return the runs of the baseline, and what of the history they are.

        A history that holds nothing yet begins with the candidate where that is to be recorded: then there are none.

        Raises:
            NoBaselineError: The history holds nothing, and nothing is to be recorded.
        """
        if self.paths or self.history is None:
            named = measured_side(self.paths, language, cache_dir=cache_dir)
            return (named if self.redactor is None else redacted_side(named, self.redactor)).figures, None
        from ascend_sn.compare.history.baseline import baseline_of
        from ascend_sn.compare.history.store import History

        figures = [] if candidates is None else candidates.originals
        try:
            with History(self.history.place) as history:
                baseline, runs = baseline_of(history, figures, series=self.history.series, runs=self.history.runs)
            return runs, baseline
        except NoBaselineError as error:
            if not self.record or candidates is None:
                raise
            self._add(candidates, None, language)
            begun = {"where": self._shown(error.where), "series": self._shown(self.history.series)}
            print(language.text("gate.history-begins", **begun))
            return [], None

    def keep(self, candidates: Side, result: GateResult, language: Language) -> None:
        """Record the candidate with its verdict, where that is asked for and there is one."""
        if not self.record:
            return
        if result.verdict == "cannot compare":
            from ascend_sn.compare.history.store import History

            assert self.history is not None
            with History(self.history.place) as history:
                print(language.text("gate.not-recorded", where=self._shown(history.where)), file=sys.stderr)
            return
        is_suspect = result.verdict == "unsure" and any(one.kind == "possible" for one in result.reasons)
        self._add(candidates, "possible" if is_suspect else result.verdict, language)

    def _add(self, candidates: Side, verdict: Verdict | None, language: Language) -> None:
        from ascend_sn.cli.history_actions import Told, keep_side
        from ascend_sn.compare.history.store import History

        assert self.history is not None
        with History(self.history.place) as history:
            records = keep_side(
                history,
                self.history.series,
                candidates,
                Told(),
                verdict,
                now_ns=time.time_ns(),
                language=language,
                redactor=self.redactor,
            )
        names = ", ".join(self._shown(one.label) for one in records)
        print(language.text("gate.recorded", runs=names, where=self._shown(history.where)), file=sys.stderr)

    def _shown(self, text: str) -> str:
        return text if self.redactor is None else self.redactor.text(text)
