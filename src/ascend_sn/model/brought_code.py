"""Code that users and other packages bring along: whatever it raises becomes one line that says where."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from ascend_sn.errors import AscendSnError, BroughtCodeError

__all__ = ["call_brought"]

_T = TypeVar("_T")
_LONGEST: Final = 300


def call_brought(function: Callable[..., _T], *arguments: object) -> _T:
    """Return what a function of somebody else returns.

    Raises:
        BroughtCodeError: It raised; an end of the process or a recursion without end among it.
        AscendSnError: It refused in our own words.
        KeyboardInterrupt: The user interrupted.
    """
    try:
        return function(*arguments)
    except (KeyboardInterrupt, AscendSnError):
        raise
    except BaseException as error:
        raise BroughtCodeError(_one_line(error)) from error


def _one_line(error: BaseException) -> str:
    said, kind = _text(error), type(error).__name__
    where = _place(error)
    return f"{said} ({kind}{where})" if said else f"{kind}{where}"


def _text(error: BaseException) -> str:
    try:
        text = " ".join(str(error).split())
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - the text is code of others as well
        return ""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "\u2026"


def _place(error: BaseException) -> str:
    """Where it was raised, in the innermost frame of a file that has a name."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    inner = frames[-1] if len(frames) > 1 else None  # the first frame is the call above
    return "" if inner is None else f", {Path(inner.filename).name} line {inner.lineno}"
