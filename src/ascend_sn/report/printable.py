"""Make names from traces harmless before they are shown: they are input, and input is hostile."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["markdown_cell", "printable", "shortened"]

# C0 and C1 controls (escape sequences of terminals start with one of them), line and paragraph separators,
# and the marks that turn the direction of writing, with which a name can pose as another one.
_HARMFUL: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_MARKDOWN: Final = re.compile(r"([\\`*_\[\]<>#|~]|^[+\-=])")


def printable(text: str) -> str:
    r"""Replace control characters with visible escapes, such as `\x1b`; nothing else changes."""
    return _HARMFUL.sub(_escaped, text) if _HARMFUL.search(text) else text


def shortened(text: str, width: int) -> str:
    """Cut the middle out of a text longer than `width` characters: both ends of a name tell it apart."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 3
    return text[: width - 1 - tail] + "\u2026" + text[len(text) - tail :]


def markdown_cell(text: str) -> str:
    """Escape a text so that it stays one cell of a Markdown table and formats nothing."""
    return _MARKDOWN.sub(r"\\\1", printable(text)).replace("&", "&amp;")


def _escaped(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
