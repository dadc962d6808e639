"""Make texts of captures harmless before they leave us: they are input, and input is hostile."""

from __future__ import annotations

import re
from typing import Final, TypeVar

__all__ = ["harmless", "printable"]

_Cell = TypeVar("_Cell")

# C0 and C1 controls (escape sequences of terminals start with one of them), line and paragraph separators,
# and the marks that turn the direction of writing, with which a name can pose as another one.
_HARMFUL: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_FORMULA: Final = ("=", "+", "-", "@")


def printable(text: str) -> str:
    r"""Replace control characters with visible escapes, such as `\x1b`; nothing else changes."""
    return _HARMFUL.sub(_escaped, text) if _HARMFUL.search(text) else text


def harmless(cell: _Cell) -> _Cell | str:
    """Return a cell that no spreadsheet takes for a formula; control characters are shown."""
    if not isinstance(cell, str):
        return cell
    shown = printable(cell)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown


def _escaped(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
