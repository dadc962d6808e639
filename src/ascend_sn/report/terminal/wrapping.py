"""Break sentences into lines: between words, between Chinese characters, never between a number and its unit."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final

__all__ = ["cell_width", "wrapped"]

_UNITS: Final = frozenset({"%", "ns", "us", "ms", "s", "B", "KiB", "MiB", "GiB", "TiB", "kB/s", "MB/s", "GB/s", "TB/s"})
_FIRST_CHINESE: Final = "\u2e80"
_WORD: Final = re.compile(r"\S+|\s+")
_NUMBER_END: Final = re.compile(r"[\d.]$")


def cell_width(text: str) -> int:
    """Columns that a text takes in a terminal; Chinese characters take two, marks above letters none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a text that are at most `width` columns wide, unless a single word is longer."""
    lines: list[str] = []
    line, used = "", 0
    for piece in _pieces(text):
        wide = cell_width(piece)
        if line and used + wide > width and not piece.isspace():
            lines.append(line.rstrip())
            line, used = "", 0
        if not line and piece.isspace():
            continue
        line, used = line + piece, used + wide
    return [*lines, line.rstrip()] if line.strip() else lines


def _pieces(text: str) -> list[str]:
    """Words, blanks and single Chinese characters; a number and its unit are one piece."""
    tokens = (_WORD if max(text, default="") < _FIRST_CHINESE else _chinese_token()).findall(text)
    pieces: list[str] = []
    for token in tokens:
        unit = token.rstrip(".,;:)\uff09")
        if unit in _UNITS and len(pieces) > 1 and pieces[-1] == " " and _NUMBER_END.search(pieces[-2]):
            pieces[-2:] = [f"{pieces[-2]} {token}"]
        else:
            pieces.append(token)
    return pieces


@cache
def _chinese_token() -> re.Pattern[str]:
    """Words, blanks, and Chinese characters each with the marks behind it; to compile it takes milliseconds."""
    return re.compile(
        r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef][\u3001\u3002\uff0c\uff1a\uff1b\uff09]*|[^\s\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]+|\s+"
    )
