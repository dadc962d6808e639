"""Answers of queries as a table for the screen, CSV or JSON."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec

from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable, shortened

if TYPE_CHECKING:
    from ascend_sn.store.sandbox import Answer

__all__ = ["write_csv", "write_json", "write_table"]

_CELL_WIDTH: Final = 60
_BETWEEN: Final = 2
"""Blanks between two columns."""
_RIGHT: Final = frozenset(
    {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "UBIGINT", "UINTEGER"}
)
_STARTS_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def write_table(answer: Answer, file: IO[str], language: Language, *, limit: int) -> None:
    """Write the first `limit` rows under their names, then how many more there are.

    Rows that are wider than the screen are written one below the other, a line for each column.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = answer.rows()
    cells = [[_shown(value) for value in row] for row in islice(rows, limit)]
    names = [printable(name) for name in answer.columns]
    console = Console(file=file, highlight=False)
    whole = max(cell_len(name) for name in names) if names else 0
    widths = [max(map(cell_len, (name, *column))) for name, *column in zip(names, *cells, strict=True)]
    if sum(widths) + _BETWEEN * (len(widths) - 1) > console.width and len(widths) > 1:
        for number, row in enumerate(cells, 1):
            print(language.text("query.record", number=number), file=file)
            for name, cell in zip(names, row, strict=True):
                print(f"  {name}{' ' * (whole - cell_len(name))}  {cell}", file=file)
        if not cells:
            print(", ".join(names), file=file)
    else:
        table = Table(box=None, pad_edge=False, padding=(0, _BETWEEN, 0, 0))
        for name, type_ in zip(names, answer.types, strict=True):
            table.add_column(Text(name), justify="right" if _is_number(type_) else "left", overflow="fold")
        for row in cells:
            table.add_row(*map(Text, row))
        console.print(table)
    more = sum(1 for _ in rows)
    if more:
        print(language.text("query.more-rows", shown_count=len(cells), rows_count=len(cells) + more), file=file)
    elif not cells:
        print(language.text("query.no-rows"), file=file)


def write_csv(answer: Answer, file: IO[str]) -> None:
    """Write comma-separated values; a text that a spreadsheet would run as a formula gets a `'` before it."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([_harmless(name) for name in answer.columns])
    for row in answer.rows():
        writer.writerow([_harmless(value) if isinstance(value, str) else value for value in row])


def write_json(answer: Answer, file: IO[str]) -> None:
    """Write a list of objects, one per row; what JSON has no value for (not a number, infinite) is null."""
    columns = _distinct(answer.columns)
    file.write("[")
    for number, row in enumerate(answer.rows()):
        encoded = msgspec.json.encode(dict(zip(columns, row, strict=True)), enc_hook=str)
        file.write((",\n " if number else "\n ") + encoded.decode())
    file.write("\n]\n")


def _is_number(type_: str) -> bool:
    return type_ in _RIGHT or type_.startswith("DECIMAL")


def _shown(value: Any) -> str:
    return "-" if value is None else printable(shortened(str(value), _CELL_WIDTH))


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_STARTS_FORMULA) else text


def _distinct(names: list[str]) -> list[str]:
    """The names; one that was there before gets its place behind it, so that no value is lost."""
    seen: set[str] = set()

    def named() -> Iterator[str]:
        for place, name in enumerate(names, 1):
            chosen = f"{name}_{place}" if name in seen else name
            seen.add(chosen)
            yield chosen

    return list(named())
