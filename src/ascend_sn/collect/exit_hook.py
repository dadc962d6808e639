"""Finish the recording when the process ends."""

from __future__ import annotations

import atexit
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ExitHook"]


class ExitHook:
    """A function that runs once when the process ends in an orderly way, unless it is cancelled before."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function
        self._cancel_other: Callable[[], object] | None = None
        atexit.register(function)
        # A child of multiprocessing ends with os._exit and runs only the finalizers of that module.
        process = sys.modules.get("multiprocessing.process")
        if process is not None and process.parent_process() is not None:
            from multiprocessing.util import Finalize

            self._cancel_other = Finalize(None, function, exitpriority=10).cancel

    def cancel(self) -> None:
        """Forget the function."""
        atexit.unregister(self._function)
        if self._cancel_other is not None:
            self._cancel_other()
            self._cancel_other = None
