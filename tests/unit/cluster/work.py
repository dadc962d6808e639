"""What workers of the tests do; a module of its own, so that other processes find it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from ascend_sn.errors import StoreError


def squared(number: int) -> int:
    return number * number


def squared_but_seven(number: int) -> int:
    if number == 7:
        raise StoreError("/place", "No space left on device")
    return number * number


def squared_or_defect(number: int) -> int:
    if number == 7:
        raise ZeroDivisionError("seven")
    return number * number


def killed_at_seven(number: int) -> int:
    if number == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def killed_once(mark: str) -> str:
    """Die where the mark is not there yet; it is left first, so that the next attempt succeeds."""
    path = Path(mark)
    if path.name == "mortal" and not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name
