"""Stand-ins for paths, users and hosts in all that a server says; those of one server mean the same in both runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TypeVar

from ascend_sn.store.input import Input
from ascend_sn.store.redacted_copy import kept_copy
from ascend_sn.store.redaction import Redactor, of_this_machine
from ascend_sn.store.run import Run

__all__ = ["StandIns"]

_Made = TypeVar("_Made")


class StandIns:
    """One redactor for all runs of a server, used by one thread at a time."""

    def __init__(self, inputs: Sequence[Input]) -> None:
        hosts, users = of_this_machine()
        self._redactor = Redactor(hosts=hosts, users=users)
        self._lock = Lock()
        for named in inputs:
            for path in named.paths:
                self._redactor.learn(os.path.realpath(path))
            self._redactor.learn_input(named.name)

    def text(self, text: str) -> str:
        """Return a text with stand-ins."""
        return self.made(lambda redactor: redactor.text(text))

    def made(self, make: Callable[[Redactor], _Made]) -> _Made:
        """Return what `make` does with the redactor; nobody else uses it meanwhile."""
        with self._lock:
            return make(self._redactor)

    @contextmanager
    def copied(
        self,
        run: Run,
        *,
        complete: Callable[[Path], None],
        is_complete: Callable[[Path], bool],
        cache_dir: Path | None = None,
    ) -> Iterator[Run]:
        """Open a copy of a run with stand-ins, see `kept_copy`, while the `with` block lasts.

        Raises:
            StoreError: There is no room for the copy.
        """
        with self._lock:
            folder = kept_copy(run, self._redactor, complete=complete, is_complete=is_complete, cache_dir=cache_dir)
            shown = Input.of(self._redactor.place(run.input.name))
        with Run(folder, shown) as copy:
            yield copy
