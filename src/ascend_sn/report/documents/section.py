"""What every section of a document tells about itself."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

__all__ = [
    "Section",
    "State",
    "Statement",
]

State = Literal["collected", "empty", "missing", "not_requested", "damaged", "unsupported"]


class Section(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What every section tells about itself.

    Attributes:
        collected: Whether the section has figures.
        state: `collected`; `empty` (asked for, none happened); `missing` (asked for, nothing came);
            `not_requested`; `damaged`; `unsupported`.
        reason: Why it is absent, in words.
        turn_on: The option of the source tool that collects it.
    """

    collected: bool
    state: State
    reason: str = ""
    turn_on: str = ""


class Statement(msgspec.Struct, kw_only=True):
    """A sentence: the id of the message, its parameters, and the text in the document's language."""

    message_id: str
    params: dict[str, Any]
    text: str
