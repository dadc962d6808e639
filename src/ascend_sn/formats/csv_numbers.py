"""How the numbers of a CSV file are written: which sign is the decimal one, and which groups digits.

`12,345` is 12345 to one writer and 12.345 to another, so no cell is judged alone: all of a file are asked for one
that can be read in one way only. Where they do not agree on one way, what can be read in two is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from itertools import islice
from typing import Final

from ascend_sn.formats.csv_dialect import column_key

__all__ = ["NOTHING", "STRIPPED", "Signs", "plain_numbers", "signs_of"]

STRIPPED: Final = " \t\r\n\"'"
"""What stands around a number and is no part of it."""

NOTHING: Final = frozenset({"", "n/a", "na", "null", "none", "nan", "-", "--"})
"""Cells, in small letters, that say that there is no number."""


class Signs(Enum):
    """What point and comma mean in the numbers of one file."""

    PLAIN = "no number has a comma, points are decimal"
    POINT = "points are decimal, commas group"
    COMMA = "commas are decimal, points group"
    UNSURE = "not told, or told in both ways"


_LOOKED_AT: Final = 64
"""Cells at the start of a column that tell whether it holds texts."""
_LONGEST: Final = 64
_NO_NUMBER: Final = "?"
_NUMBER: Final = re.compile(r"[+-]?[\d.,]*\d[\d.,]*([eE][+-]?\d+)?", re.ASCII)
_GROUPED: Final = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", re.ASCII)
_DECIMAL_COMMA: Final = re.compile(r"[+-]?((\d+|\d{1,3}(\.\d{3})+)(,\d+)?|\d,\d+[eE][+-]?\d+)", re.ASCII)
_EITHER: Final = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}", re.ASCII)


def _proof(decimal: str, group: str) -> re.Pattern[str]:
    """Match a line that is a number in which the signs can mean nothing else."""
    d, g = re.escape(decimal), re.escape(group)
    numbers = (
        *(rf"\d{{1,3}}(?:{g}\d{{3}}){{2,}}(?:{d}\d*)?", rf"\d{{1,3}}(?:{g}\d{{3}})+{d}\d*"),
        *(rf"\d+{d}(?:\d{{1,2}}|\d{{4,}})", rf"\d{{4,}}{d}\d+", rf"0\d*{d}\d+", rf"{d}\d+"),
        rf"\d{d}\d+[eE][+-]?\d+",
    )
    return re.compile(rf"^[ \t\r\"']*[+-]?(?:{'|'.join(numbers)})[ \t\r\"']*$", re.ASCII | re.MULTILINE)


_POINT_PROOF: Final = _proof(".", ",")
_COMMA_PROOF: Final = _proof(",", ".")
_LIST: Final = re.compile(r"^[ \t\r\"']*[+-]?\d+(?:,\d+){2,}[ \t\r\"']*$", re.ASCII | re.MULTILINE)
"""Digits between commas; a column with such that are no groups of three holds lists."""


def signs_of(columns: Mapping[str, Sequence[str]], delimiter: str) -> Signs:
    """Return what the signs mean by all numbers of a file.

    Shapes and other lists are no numbers. In a file whose cells are parted by commas and whose numbers have none,
    points are decimal, as exporters write them; elsewhere a number has to prove what they mean.
    """
    numbers = [cells for name, cells in columns.items() if "shape" not in column_key(name) and _may_be_numbers(cells)]
    if delimiter == "," and not any("," in "".join(cells) for cells in numbers):
        return Signs.PLAIN
    point = comma = False
    for cells in numbers:
        text = "\n".join(cells)
        if any(not _GROUPED.fullmatch(found[0].strip(STRIPPED)) for found in _LIST.finditer(text)):
            continue
        point = point or bool(_POINT_PROOF.search(text))
        comma = comma or bool(_COMMA_PROOF.search(text))
        if point and comma:
            break
    if point == comma:
        return Signs.UNSURE
    return Signs.POINT if point else Signs.COMMA


def plain_numbers(cells: Sequence[str], signs: Signs) -> Sequence[str]:
    """Return numbers without groups and with a decimal point; what cannot be read for sure is no number then."""
    if signs is Signs.PLAIN:
        return cells
    together = "".join(cells)
    if "," not in together and (signs is Signs.POINT or "." not in together):
        return cells
    plain = {Signs.POINT: _of_point, Signs.COMMA: _of_comma}.get(signs, _of_unsure)
    return [plain(cell.strip(STRIPPED)) for cell in cells]


def _may_be_numbers(cells: Iterable[str]) -> bool:
    first = [bare for cell in islice(cells, _LOOKED_AT) if (bare := cell.strip(STRIPPED)).lower() not in NOTHING]
    return not first or any(len(bare) <= _LONGEST and _NUMBER.fullmatch(bare) for bare in first)


def _of_point(cell: str) -> str:
    return cell.replace(",", "") if _GROUPED.fullmatch(cell) else cell


def _of_comma(cell: str) -> str:
    if _DECIMAL_COMMA.fullmatch(cell):
        return cell.replace(".", "").replace(",", ".")
    return cell + _NO_NUMBER if "." in cell else cell


def _of_unsure(cell: str) -> str:
    return cell + _NO_NUMBER if _EITHER.fullmatch(cell) else cell
