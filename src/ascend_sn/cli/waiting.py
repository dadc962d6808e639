"""Say on stderr what takes long; nothing for two seconds, and nothing at all when nobody watches."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Final

from ascend_sn.report.words.printable import printable, shortened

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["Waiting"]

_PATIENCE_S: Final = 2.0
_NAME_WIDTH: Final = 40


class Waiting:
    """A progress bar for work that may take long; use it in a `with` statement and tell it what happens."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._done, self._total = 0, 0
        self._lock = threading.Lock()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._timer = threading.Timer(_PATIENCE_S, self._show) if sys.stderr.isatty() else None

    def __enter__(self) -> Waiting:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        if self._bar is not None:
            self._bar.stop()

    def reading(self, done: int, total: int, name: str) -> None:
        """Take note of a source that is read now; has the signature of `store.ingest.Progress`."""
        self.tell(shortened(printable(name), _NAME_WIDTH), done, total)

    def tell(self, text: str, done: int = 0, total: int = 0) -> None:
        """Take note of what happens now, and of how much of it is done."""
        with self._lock:
            self._text, self._done, self._total = text, done, total
            if self._bar is not None and self._task is not None:
                self._bar.update(self._task, description=text, completed=done, total=total or None)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        with self._lock:
            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._text, completed=self._done, total=self._total or None)
            self._bar.start()
