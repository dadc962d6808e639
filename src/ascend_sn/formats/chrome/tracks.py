"""Names of the tracks that events lie on, from the metadata events of a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ascend_sn._native.codes import distinct
from ascend_sn.formats.chrome.events import Events, thread_keys
from ascend_sn.formats.chrome.texts import text_column
from ascend_sn.model.rows import Text

__all__ = ["Tracks"]


@dataclass(frozen=True)
class Tracks:
    """Names given to processes and threads; a track is named by both ids where it has none."""

    strings: Sequence[str]
    processes: dict[int, str]
    threads: dict[tuple[int, int], str]

    @staticmethod
    def of(metadata: Events, strings: Sequence[str]) -> Tracks:
        """Read `process_name` and `thread_name` events; the last name of a track holds."""
        processes: dict[int, str] = {}
        threads: dict[tuple[int, int], str] = {}
        named = zip(
            metadata.name.tolist(),
            metadata.pid.tolist(),
            metadata.tid.tolist(),
            metadata.texts["name"].tolist(),
            strict=True,
        )
        for kind, pid, tid, name in named:
            if kind < 0 or name < 0:
                continue
            if strings[kind] == "process_name":
                processes[pid] = strings[name]
            elif strings[kind] == "thread_name":
                threads[pid, tid] = strings[name]
        return Tracks(strings, processes, threads)

    def names(self, events: Events, first_tracked: int, first_instant: int) -> Text:
        """Return the track of each event; those from `first_tracked` to `first_instant` are asynchronous."""
        keys = thread_keys(events.pid, events.tid)
        found, row = np.unique(keys, return_inverse=True)
        several = len(distinct(events.pid)) > 1
        named = [
            self._name(pid, tid, several)
            for pid, tid in zip((found >> 32).tolist(), found.astype(np.int32).tolist(), strict=True)
        ]
        category = text_column(events.category, self.strings)
        values = [*named, *(f"async {name}" for name in category.values), "async"]
        codes = row.astype(np.int32)
        tracked = category.codes[first_tracked:first_instant]
        codes[first_tracked:first_instant] = np.where(tracked >= 0, tracked + len(named), len(values) - 1)
        return Text(codes, values).mapped(str)

    def _name(self, pid: int, tid: int, several: bool) -> str:
        thread_id = self.strings[tid] if tid >= 0 else ""
        thread = self.threads.get((pid, tid))
        label = thread_id if thread is None else thread if thread_id in thread else f"{thread} ({thread_id})"
        if not several:
            return label
        process = self.processes.get(pid)
        process_id = self.strings[pid] if pid >= 0 else ""
        owner = process_id if process is None else process if process_id in process else f"{process} ({process_id})"
        return f"{owner}/{label}"
