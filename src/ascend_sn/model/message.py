"""A sentence before it has a language: the id of a message and its parameters."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["Message"]


class Message(msgspec.Struct, frozen=True):
    """What is to be said; parameters carry their unit in the name, and may be messages themselves."""

    message_id: str
    params: dict[str, Any] = {}
