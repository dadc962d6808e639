"""Read a CSV file column-wise, by header name; what does not fit is counted with file and line."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Int64, Nullable, Text
from ascend_sn.model.units import integers, microsecond_text_to_ns, reals

__all__ = ["CsvColumns", "float_cells", "integer_cells", "ns_cells", "read_csv_columns", "text_cells"]

Cells = Sequence[str]

_REPLACEMENT = "\ufffd"
_STRIPPED = " \t\r\n\"'"
_ABSENT = ("", "N/A", "NA", "null", "None", "nan", "NaN")


@dataclass(frozen=True)
class CsvColumns:
    """The columns of one CSV file by header name; `lines` is the file line in which each row ends."""

    path: Path
    file: str
    columns: dict[str, Cells]
    lines: Int64

    def __len__(self) -> int:
        return len(self.lines)

    def get(self, *names: str) -> Cells | None:
        """Return the first column of these names that the file has (names change between versions)."""
        for name in names:
            found = self.columns.get(name)
            if found is not None:
                return found
        return None

    def only(self, mask: npt.NDArray[np.bool_]) -> CsvColumns:
        """Return the rows under a mask."""
        if bool(mask.all()):
            return self
        index = np.flatnonzero(mask).tolist()
        columns: dict[str, Cells] = {name: [cells[i] for i in index] for name, cells in self.columns.items()}
        return CsvColumns(self.path, self.file, columns, self.lines[mask])

    def without_unreadable(self, ledger: Ledger, required: dict[str, Nullable]) -> npt.NDArray[np.bool_]:
        """Return the mask of rows in which every required number is there; the others go to the ledger."""
        usable = np.ones(len(self), np.bool_)
        for name, numbers in required.items():
            bad = usable & ~numbers.valid
            if bad.any():
                first = int(np.flatnonzero(bad)[0])
                column = self.columns.get(name)
                example = "" if column is None else f"{name} = {column[first]!r}"
                ledger.add(
                    self.file,
                    "unreadable_cell",
                    place=f"line {int(self.lines[first])}",
                    count=int(bad.sum()),
                    example=example,
                )
                usable &= ~bad
        return usable


def read_csv_columns(path: Path, file: str, ledger: Ledger, required: Sequence[str] = ()) -> CsvColumns | None:
    """Read a CSV file; its first line names the columns.

    Byte order mark, any line ends, quoted line feeds, and blank lines are accepted. Rows of another width
    than the header (a cut last line, for instance) are left out and counted.

    Args:
        path: The file.
        file: Its name in the ledger.
        ledger: Takes what could not be read.
        required: Column names without which the file is of no use.

    Returns:
        The columns, or None (with a ledger entry) for an empty file or one whose header is another.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        ledger.add(file, "unreadable_file", example=error.strerror or str(error))
        return None
    text = _decoded(data)
    damaged_text = text is None
    if text is None:
        text = data.decode("utf-8-sig", errors="replace")
    with _any_field_size():
        header, rows, lines, failure = _rows(text)
    if not header or not any(name.strip() for name in header):
        ledger.add(file, "empty_file", severity="damage")
        return None
    names = [name.strip() for name in header]
    absent = [name for name in required if name not in names]
    if absent:
        ledger.add(file, "unknown_header", place="line 1", example=f"no column {absent[0]!r}")
        return None
    if failure:
        ledger.add(file, "csv_syntax", place=f"line {lines[-1] + 1 if lines else 2}", example=failure)
    rows, lines = _of_width(len(names), rows, lines, file, ledger)
    cells: list[Cells] = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in names]
    columns: dict[str, Cells] = {}
    for name, column in zip(names, cells, strict=True):
        columns.setdefault(name, column)
    if damaged_text:
        _count_damaged_text(columns, file, ledger)
    return CsvColumns(path, file, columns, np.array(lines, np.int64))


def text_cells(cells: Cells | None, absent: Sequence[str] = _ABSENT) -> Text | None:
    """Return a text column; blanks and quotes around a cell are stripped, absent ones are null."""
    if cells is None:
        return None
    missing = frozenset(absent)
    return Text.of(cells).mapped(lambda cell: None if (bare := cell.strip(_STRIPPED)) in missing else bare)


def ns_cells(cells: Cells | None) -> Nullable | None:
    """Return microsecond cells as nanoseconds, exactly."""
    return None if cells is None else microsecond_text_to_ns(cells)


def integer_cells(cells: Cells | None) -> Nullable | None:
    """Return integer cells; absent or unreadable ones are null."""
    return None if cells is None else integers(cells)


def float_cells(cells: Cells | None) -> Nullable | None:
    """Return decimal cells as float64 (never absolute times); absent or unreadable ones are null."""
    if cells is None:
        return None
    bare = np.char.strip(np.array(cells, np.str_), _STRIPPED) if cells else np.zeros(0, np.str_)
    valid = ~np.isin(bare, _ABSENT)
    values = np.zeros(len(bare), np.float64)
    try:
        values[valid] = bare[valid].astype(np.float64)
    except ValueError:
        return reals(cells)
    valid &= np.isfinite(values)
    return Nullable(values, valid)


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


@contextmanager
def _any_field_size() -> Iterator[None]:
    """Lift the parser's process-wide limit while reading: call stacks pass 128 KiB."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _rows(text: str) -> tuple[list[str], list[list[str]], list[int], str]:
    reader = csv.reader(io.StringIO(text, newline=""))
    header: list[str] = []
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for row in reader:
            if not row or (len(row) == 1 and not row[0].strip()):
                continue
            if header:
                rows.append(row)
                lines.append(reader.line_num)
            else:
                header = row
    except csv.Error as error:
        return header, rows, lines, str(error)
    return header, rows, lines, ""


def _of_width(
    width: int, rows: list[list[str]], lines: list[int], file: str, ledger: Ledger
) -> tuple[list[list[str]], list[int]]:
    wrong = [i for i, row in enumerate(rows) if len(row) != width]
    if not wrong:
        return rows, lines
    first = rows[wrong[0]]
    ledger.add(
        file,
        "row_width",
        place=f"line {lines[wrong[0]]}",
        count=len(wrong),
        example=f"{len(first)} cells, not {width}: {','.join(first)}",
    )
    fitting = [i for i, row in enumerate(rows) if len(row) == width]
    return [rows[i] for i in fitting], [lines[i] for i in fitting]


def _count_damaged_text(columns: dict[str, Cells], file: str, ledger: Ledger) -> None:
    damaged = [cell for column in columns.values() for cell in column if _REPLACEMENT in cell]
    if damaged:
        ledger.add(file, "invalid_utf8", count=len(damaged), example=damaged[0])
