"""The profiles of a large job one by one: opened when something of them is asked for; the last ones are kept."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final

import duckdb

from ascend_sn.analysis import BY_NAME
from ascend_sn.analysis.registry import is_summarised, summary_of
from ascend_sn.store import Run

__all__ = ["ACROSS", "OneByOne", "Part", "show_across"]

ACROSS: Final = "collective_across"
"""Collectives of all profiles: profile_id, collective_id, op, group_id, sequence, ts_ns, dur_ns."""

_KEPT: Final = 8
_KEPT_ROWS: Final = 1_500_000
"""Parts that are kept open, and rows of theirs in memory; the one asked for last stays whatever its size."""

_MEMORY: Final = "1GB"


class Part:
    """Some profiles of a run, opened alone.

    Attributes:
        run: Their tables; `run.db` is used under `lock`.
        lock: For analyses.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.lock = Lock()
        # Other connections are made of one that runs nothing.
        self._idle = run.db.cursor()
        self._making = Lock()

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a connection of its own, for a query beside others."""
        with self._making:
            return self._idle.cursor()


class OneByOne:
    """Opens profiles of a run alone: a query on all of them looks into the files of all, whichever it asks for."""

    def __init__(self, whole: Run) -> None:
        self._whole = whole
        self._lock = Lock()
        self._kept: OrderedDict[tuple[int, ...], Part] = OrderedDict()

    def opened(self, *profiles: int) -> Part:
        """Return some profiles; who still uses one that is no longer kept keeps it.

        Raises:
            StoreError: A table of theirs cannot be read.
        """
        key = tuple(sorted(set(profiles)))
        with self._lock:
            part = self._kept.get(key)
            if part is None:
                run = Run(self._whole.path, self._whole.input, job=self._whole.job, profiles=key)
                run.db.execute(f"set memory_limit = '{_MEMORY}'")
                part = self._kept[key] = Part(run)
            self._kept.move_to_end(key)
            while len(self._kept) > 1 and (
                len(self._kept) > _KEPT or sum(one.run.row_count for one in self._kept.values()) > _KEPT_ROWS
            ):
                self._kept.popitem(last=False)
            return part


def show_across(run: Run) -> None:
    """Make `ACROSS` visible: the rows of the summaries of a large job, else the table itself."""
    parts = BY_NAME["collective_parts"]
    source = summary_of(parts.per_profile) if is_summarised(parts, run.db) else "collective"
    run.db.execute(f"""
        create view {ACROSS} as
        select profile_id, collective_id, op, group_id, sequence, ts_ns, dur_ns
        from {source}
    """)
