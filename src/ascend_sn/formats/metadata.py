"""Values that a file states about itself: of the kind they should be, or counted in the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from ascend_sn.model.ledger import Ledger

__all__ = ["stated", "stated_number"]

_T = TypeVar("_T")
_MOST_DIGITS: Final = 19
_NONE: Final = (-1, 0xFFFFFFFF)
"""How a job of one process states its rank."""


def stated(values: Mapping[str, Any], key: str, type_: type[_T], file: str, ledger: Ledger) -> _T | None:
    """Return a value of a certain type; None where it is absent, null, or another thing."""
    value = values.get(key)
    if value is None or isinstance(value, type_):
        return value
    _refuse(key, value, file, ledger)
    return None


def stated_number(values: Mapping[str, Any], key: str, limit: int, file: str, ledger: Ledger) -> int | None:
    """Return a whole number from 0 up to a limit, also out of text; None where it is absent, null, -1, or odd."""
    value = values.get(key)
    number = value
    if isinstance(value, str):
        text = value.strip()
        digits = text.removeprefix("-")
        number = int(text) if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS else value
    if value is None or number in _NONE:
        return None
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < limit:
        return number
    _refuse(key, value, file, ledger)
    return None


def _refuse(key: str, value: Any, file: str, ledger: Ledger) -> None:
    ledger.add(file, "unreadable_metadata", place=key, example=repr(value))
