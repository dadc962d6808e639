"""How a CSV file is written: encoding, what parts its cells, spelling and units of its columns.

The exporters write UTF-8, commas and plain decimals. A spreadsheet that saves the file again, or another exporter,
writes the same table in another dialect.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Final

import msgspec

__all__ = ["Dialect", "column_key", "dialect_of", "in_other_units", "in_unit"]

_DELIMITERS: Final = ",;\t"
_WIDE_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BLANKS: Final = re.compile(r"\s+")
_UNIT: Final = re.compile(r"\(([a-z]+)\)$")
_UNITS: Final = (
    {"ns": Decimal("0.001"), "us": Decimal(1), "ms": Decimal(1000), "s": Decimal(1000000)},
    {"b": Decimal(1), "kb": Decimal(1024), "mb": Decimal(1024**2), "gb": Decimal(1024**3)},
)
"""Units that a column may be written in, by what they measure."""


class Dialect(msgspec.Struct, frozen=True):
    """How one file is written.

    Attributes:
        encoding: Name of the codec; it takes a byte order mark away.
        delimiter: What parts two cells.
    """

    encoding: str = "utf-8-sig"
    delimiter: str = ","


def dialect_of(data: bytes) -> Dialect:
    """Return the dialect of a file by its mark and its first line."""
    encoding = "utf-16" if data.startswith(_WIDE_MARKS) else "utf-8-sig"
    header = next((line for line in _first_lines(data, encoding) if line.strip()), "")
    delimiter = max(_DELIMITERS, key=lambda sign: len(next(csv.reader([header], delimiter=sign), [])))
    return Dialect(encoding, delimiter)


@lru_cache(maxsize=1024)
def column_key(name: str) -> str:
    """Return what two spellings of a column's name share: small letters, no blanks."""
    return _BLANKS.sub("", name).casefold()


def in_other_units(key: str) -> dict[str, Decimal]:
    """Return the keys of a column in other units with the factor to the unit that `key` names."""
    unit = _UNIT.search(key)
    if unit is None:
        return {}
    stem, own = key[: unit.start()], unit[1]
    return {
        f"{stem}({other})": factor / factors[own]
        for factors in _UNITS
        if own in factors
        for other, factor in factors.items()
        if other != own
    }


def in_unit(cells: Iterable[str], factor: Decimal) -> list[str]:
    """Return decimal cells times a factor, exactly; what is no number stays as it is."""
    return [_times(cell, factor) for cell in cells]


def _times(cell: str, factor: Decimal) -> str:
    try:
        number = Decimal(cell.strip(" \t\r\n\"'"))
    except InvalidOperation:
        return cell
    return format(number * factor, "f") if number.is_finite() and abs(number.adjusted()) < 30 else cell


def _first_lines(data: bytes, encoding: str) -> list[str]:
    # Enough for the longest header; a letter that the end cuts is dropped.
    return data[: 1 << 16].decode(encoding, errors="ignore").splitlines()
