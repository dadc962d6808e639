"""A sentence before it has a language, as the rules use it."""

from __future__ import annotations

from ascend_sn.model.message import Message

__all__ = ["Message"]
