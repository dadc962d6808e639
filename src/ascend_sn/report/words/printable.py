"""Make names from traces harmless before they are shown: they are input, and input is hostile."""

from __future__ import annotations

import re
from typing import Final

from ascend_sn.model.printable import printable

__all__ = ["markdown_cell", "printable", "shortened"]

_MARKDOWN: Final = re.compile(r"([\\`*_\[\]<>#|~]|^[+\-=])")


def shortened(text: str, width: int) -> str:
    """Cut the middle out of a text longer than `width` characters: both ends of a name tell it apart."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 3
    return text[: width - 1 - tail] + "\u2026" + text[len(text) - tail :]


def markdown_cell(text: str) -> str:
    """Escape a text so that it stays one cell of a Markdown table and formats nothing."""
    return _MARKDOWN.sub(r"\\\1", printable(text)).replace("&", "&amp;")
