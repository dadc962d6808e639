"""Numbers that can be what they claim to be: the files may hold anything."""

from __future__ import annotations

from typing import Any, Final

from ascend_sn.model.rows import Nullable

__all__ = ["RANK_LIMIT", "positive", "rank_of", "ranks", "small", "whole"]

RANK_LIMIT: Final = 1 << 20
"""Ranks and places in a group lie below; 2**32 - 1 stands for none."""

_INT32_LIMIT: Final = 1 << 31


def whole(value: Any, limit: int = 1 << 62) -> int | None:
    """Return a whole number from 0 up to a limit, also out of text; None for anything else."""
    if isinstance(value, str):
        text = value.strip()
        value = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < limit else None


def rank_of(value: Any) -> int | None:
    """Return a rank; None for anything else (-1 means that there is none)."""
    return whole(value, RANK_LIMIT)


def ranks(numbers: Nullable) -> Nullable:
    """Return ranks and places; what can be none is null."""
    return Nullable(numbers.values, numbers.valid & (numbers.values >= 0) & (numbers.values < RANK_LIMIT))


def small(numbers: Nullable) -> Nullable:
    """Return numbers from 0 below 2**31; the rest, and the sign for none, is null."""
    return Nullable(numbers.values, numbers.valid & (numbers.values >= 0) & (numbers.values < _INT32_LIMIT))


def positive(numbers: Nullable) -> Nullable:
    """Return counts; 0 means that it was not recorded."""
    known = small(numbers)
    return Nullable(known.values, known.valid & (known.values > 0))
