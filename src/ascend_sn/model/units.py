"""Text of other tools to our units, exactly: no float ever holds an absolute time.

Ascend text files write microseconds as decimal text with three decimals, that is nanoseconds; epoch
microseconds in a float64 are 0.25 us coarse.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Final

import numpy as np

from ascend_sn.model.rows import Nullable

__all__ = [
    "BYTES_PER_KIB",
    "BYTES_PER_MB",
    "BYTES_PER_MIB",
    "NS_PER_MS",
    "NS_PER_US",
    "decimal_text_to_int",
    "reals",
    "scaled",
]

NS_PER_US: Final = 1_000
NS_PER_MS: Final = 1_000_000
BYTES_PER_KIB: Final = 1 << 10
BYTES_PER_MIB: Final = 1 << 20
BYTES_PER_MB: Final = 1_000_000

_ABSENT = frozenset({"", "N/A", "NA", "null", "None", "nan", "NaN"})
_STRIPPED = " \t\r\n\"'"
_INT64_LIMIT = 1 << 63
_INT64_DIGITS = 19
_PLAIN_LENGTH = 40


def decimal_text_to_int(text: str, scale_digits: int) -> int | None:
    """Return the decimal number in `text` times 10**scale_digits, rounded half away from zero.

    Blanks, tabs and quotes around it are stripped (Ascend CSV cells end with a TAB). Exponents are
    accepted. None when the text is empty, `N/A`, not a finite number, or outside int64.
    """
    text = text.strip(_STRIPPED)
    whole, _, fraction = text.partition(".")
    if (
        len(text) <= _PLAIN_LENGTH
        and whole.isascii()
        and whole.isdigit()
        and ((fraction.isascii() and fraction.isdigit()) or not fraction)
    ):
        if len(fraction) <= scale_digits:
            number = int(whole + fraction.ljust(scale_digits, "0"))
        else:
            number = int(whole + fraction[:scale_digits]) + (fraction[scale_digits] >= "5")
        return number if number < _INT64_LIMIT else None
    exact = _decimal(text)
    return None if exact is None else scaled(exact, 10**scale_digits)


def reals(texts: Iterable[str | None]) -> Nullable:
    """Convert decimal texts to float64 (ratios and the like, never absolute times)."""
    numbers = [_decimal(text) for text in texts]
    values = np.array([0.0 if number is None else float(number) for number in numbers], np.float64)
    return Nullable(values, np.array([number is not None for number in numbers], np.bool_))


def scaled(number: Decimal, factor: int) -> int | None:
    """Return a number times a factor, rounded half away from zero; None outside int64."""
    # Looked at before it is multiplied: a cell such as 1e999999 must not become a number of a million digits.
    if number.adjusted() >= _INT64_DIGITS:
        return None
    product = int((number * factor).to_integral_value(rounding="ROUND_HALF_UP"))
    return product if -_INT64_LIMIT <= product < _INT64_LIMIT else None


def _decimal(text: str | None) -> Decimal | None:
    if text is None:
        return None
    text = text.strip(_STRIPPED)
    if text in _ABSENT or not text.isascii() or "_" in text:
        return None  # Python takes digits of every script, and underscores between them
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
