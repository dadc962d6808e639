"""Let the main thread do something, from another one, at the next place where it runs Python code."""

from __future__ import annotations

import ctypes
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["done_by_main_thread"]

PATIENCE_S = 5.0

_Call = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_asked: list[tuple[object, threading.Event]] = []
"""Calls that the interpreter has to make; they must not be freed before they have returned."""


def done_by_main_thread(work: Callable[[], None]) -> bool:
    """Have the main thread do some work and wait for it, for a few seconds.

    Returns:
        Whether it is done. A main thread that waits inside a call (for this thread, say) does it when it comes back.
    """
    _asked[:] = [entry for entry in _asked if not entry[1].is_set()]
    done = threading.Event()

    def call(_: object) -> int:
        try:
            work()
        finally:
            done.set()
        return 0

    asked = _Call(call)
    _asked.append((asked, done))
    is_refused = bool(ctypes.pythonapi.Py_AddPendingCall(asked, None))  # the queue of the interpreter is full
    return not is_refused and done.wait(PATIENCE_S)
