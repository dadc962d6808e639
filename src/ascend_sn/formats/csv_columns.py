"""Read a CSV file column-wise, by header name; what does not fit is counted with file and line."""

from __future__ import annotations

import csv
import io
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from itertools import count
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from ascend_sn.formats.csv_dialect import Dialect, column_key, dialect_of, in_other_units, in_unit
from ascend_sn.formats.csv_numbers import NOTHING, STRIPPED, Signs, plain_numbers, signs_of
from ascend_sn.model.ledger import DamageEntry, Ledger
from ascend_sn.model.rows import Int64, Nullable, Text
from ascend_sn.model.units import decimal_text_to_int, reals

__all__ = ["CsvColumns", "float_cells", "integer_cells", "ns_cells", "read_csv_columns", "size_cells", "text_cells"]

Cells = Sequence[str]


class _Origin(msgspec.Struct, frozen=True, eq=False):
    """Where the cells of a table stand, and who is told of those that are no numbers."""

    path: Path
    file: str
    dialect: Dialect
    records: Int64
    lost_count: int
    ledger: Ledger
    told: dict[str, DamageEntry]

    def place(self, row: int) -> str:
        return f"line {_line_of(self.path, self.dialect, int(self.records[row]))}"


class _Column(tuple[str, ...]):
    """The cells of one column, which know where they stand, so that what is no number can be told.

    They do not know their table: it knows them, and what refers to each other in a circle is held until Python
    looks for garbage, which in a command that reads a thousand ranks is too late.
    """

    name: str
    origin: _Origin
    signs: Signs
    written: Cells | None
    """The cells as they stand in the file, where these are converted from another unit."""


_REPLACEMENT = "\ufffd"
_ABSENT = ("", "N/A", "NA", "null", "None", "nan", "NaN")
_WIDEST_NUMBER = 64
_MOST_DIGITS = 18
"""Beyond it a number (times a thousand) may pass int64."""
_ABSENT_SET = frozenset(_ABSENT)
_NAN = "nan"


class CsvColumns(msgspec.Struct, frozen=True, eq=False):
    """The columns of one CSV file by header name."""

    origin: _Origin
    columns: dict[str, _Column]

    def __len__(self) -> int:
        return len(self.records)

    @property
    def path(self) -> Path:
        """The file."""
        return self.origin.path

    @property
    def file(self) -> str:
        """Its name in the ledger."""
        return self.origin.file

    @property
    def records(self) -> Int64:
        """The number of each row among the file's records."""
        return self.origin.records

    @property
    def lost_count(self) -> int:
        """How many rows of the file were left out while it was read."""
        return self.origin.lost_count

    def get(self, *names: str) -> _Column | None:
        """Return the first column of these names that the file has (names change between versions).

        Failing that, one whose name differs in blanks and capitals only, then one in another unit, converted.
        """
        name, factor = self._named(names)
        if name is None:
            return None
        cells = self.columns[name]
        if factor is None:
            return cells
        # What is converted is plain: signs that were read twice would be taken for others.
        return _known(self.origin, name, in_unit(_plain_numbers(cells), factor), Signs.PLAIN, cells)

    def numbers(self, *names: str) -> Cells | None:
        """Return a column as `get` does, its numbers written plainly: no grouped digits, a decimal point."""
        cells = self.get(*names)
        return None if cells is None else _plain_numbers(cells)

    def name_of(self, *names: str) -> str:
        """Return the first of these names that the file has, else the first."""
        return self._named(names)[0] or names[0]

    def times(self, ledger: Ledger, *names: str) -> Nullable | None:
        """Return a column of absolute times in nanoseconds; those in scientific notation go to the ledger."""
        cells = self.get(*names)
        if cells is None:
            return None
        # A spreadsheet that saved the file again has cut the digits: the time line is coarse then.
        written = cells if cells.written is None else cells.written
        coarse = [i for i, cell in enumerate(written) if "E+" in cell or "e+" in cell]
        if coarse:
            place, example = self.place(coarse[0]), written[coarse[0]].strip()
            ledger.add(self.file, "exponent_time", place=place, count=len(coarse), example=example)
        return _scaled(cells, 3)

    def only(self, mask: npt.NDArray[np.bool_]) -> CsvColumns:
        """Return the rows under a mask."""
        if bool(mask.all()):
            return self
        index = np.flatnonzero(mask).tolist()
        origin = msgspec.structs.replace(self.origin, records=self.records[mask])
        columns = {}
        for name, cells in self.columns.items():
            written = None if cells.written is None else [cells.written[i] for i in index]
            columns[name] = _known(origin, name, [cells[i] for i in index], cells.signs, written)
        return CsvColumns(origin, columns)

    def renamed(self, names: Mapping[str, str], **missing: str) -> CsvColumns:
        """Return the columns that are named, under other names; where one is missing, one of equal cells."""
        columns = {}
        for name, ours in names.items():
            cells = self.get(name)
            if cells is not None:
                columns[ours] = _known(self.origin, ours, cells, cells.signs, cells.written)
        for name, cell in missing.items():
            columns.setdefault(name, _known(self.origin, name, [cell] * len(self), Signs.PLAIN))
        return CsvColumns(self.origin, columns)

    def _named(self, names: Sequence[str]) -> tuple[str | None, Decimal | None]:
        """Return the header of the first of these columns, and the factor to the unit asked for if it has another."""
        for name in names:
            if name in self.columns:
                return name, None
        spelled = {column_key(name): name for name in self.columns}
        keys = [column_key(name) for name in names]
        for key in keys:
            if key in spelled:
                return spelled[key], None
        for key in keys:
            for other, factor in in_other_units(key).items():
                if other in spelled:
                    return spelled[other], factor
        return None, None

    def place(self, row: int) -> str:
        """Return where a row stands: the line of the file in which it ends."""
        return self.origin.place(row)

    def without_unreadable(self, ledger: Ledger, required: dict[str, Nullable]) -> npt.NDArray[np.bool_]:
        """Return the mask of rows in which every required number is there; the others go to the ledger."""
        usable = np.ones(len(self), np.bool_)
        for name, numbers in required.items():
            bad = usable & ~numbers.valid
            if bad.any():
                first = int(np.flatnonzero(bad)[0])
                column = self.columns.get(name)
                told = self.origin.told.get(name)
                if told is not None and told in ledger.entries:
                    ledger.entries.remove(told)  # the row is told instead of the cell
                example = "" if column is None else f"{name} = {column[first]!r}"
                ledger.add(self.file, "unreadable_cell", place=self.place(first), count=int(bad.sum()), example=example)
                usable &= ~bad
        return usable


def read_csv_columns(path: Path, file: str, ledger: Ledger, required: Sequence[str] = ()) -> CsvColumns | None:
    """Read a CSV file; its first line names the columns.

    Byte order mark, any line ends, quoted line feeds, blank lines, and the dialects of spreadsheets are accepted.
    Rows of another width than the header (a cut last line, for instance) are left out and counted; blank cells
    beyond it are none where every row has them. Numbers with commas are read where the numbers of the file prove
    what commas and points mean (`csv_numbers`).

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
    dialect = dialect_of(data)
    text = _decoded(data, dialect)
    damaged_text = text is None
    if text is None:
        text = data.decode(dialect.encoding, errors="replace")
    header, rows, failure = _records(text, dialect)
    if not header or not any(name.strip() for name in header):
        ledger.add(file, "empty_file")
        return None
    names = [name.strip() for name in header]
    if failure:
        place = f"line {_line_of(path, dialect, len(rows)) + 1}"
        ledger.add(file, "csv_syntax", place=place, example=failure)
    read_count = len(rows)
    records = np.arange(1, read_count + 1, dtype=np.int64)
    wrong = np.flatnonzero(np.fromiter(map(len, rows), np.int64, len(rows)) != len(names))
    if len(wrong):
        rows, records = _of_width(_Origin(path, file, dialect, records, 0, ledger, {}), len(names), rows, wrong)
    cells: list[Cells] = list(zip(*rows, strict=True)) if rows else [() for _ in names]
    columns: dict[str, Cells] = {}
    for name, column in zip(names, cells, strict=True):
        columns.setdefault(name, column)
    if damaged_text and rows:
        _count_damaged_text([*columns, *(cell for column in columns.values() for cell in column)], file, ledger)
    # Without a quote no cell between commas has a comma.
    plain = dialect.delimiter == "," and '"' not in text
    signs = Signs.PLAIN if plain else signs_of(columns, dialect.delimiter)
    origin = _Origin(path, file, dialect, records, read_count - len(records), ledger, {})
    table = CsvColumns(origin, {name: _known(origin, name, column, signs) for name, column in columns.items()})
    absent = next((name for name in required if table.get(name) is None), None)
    if absent is not None:
        ledger.add(file, "unknown_header", place="line 1", example=f"no column {absent!r}")
        return None
    return table


def _known(origin: _Origin, name: str, cells: Iterable[str], signs: Signs, written: Cells | None = None) -> _Column:
    column = _Column(cells)
    column.name, column.origin, column.signs, column.written = name, origin, signs, written
    return column


def text_cells(cells: Cells | None, absent: Sequence[str] = _ABSENT) -> Text | None:
    """Return a text column; blanks and quotes around a cell are stripped, absent ones are null."""
    if cells is None:
        return None
    missing = frozenset(absent)
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    codes = np.fromiter(map(numbers.__getitem__, cells), np.int32, len(cells))
    text = Text(codes, list(numbers))
    return text.mapped(lambda cell: None if (bare := cell.strip(STRIPPED)) in missing else bare)


def ns_cells(cells: Cells | None) -> Nullable | None:
    """Return microsecond cells as nanoseconds, exactly."""
    return None if cells is None else _scaled(cells, 3)


def integer_cells(cells: Cells | None) -> Nullable | None:
    """Return integer cells; absent or unreadable ones are null."""
    return None if cells is None else _scaled(cells, 0)


def float_cells(cells: Cells | None, factor: float = 1.0) -> Nullable | None:
    """Return decimal cells times a factor as float64, never absolute times; absent or unreadable ones are null."""
    if cells is None:
        return None
    plain = _plain_numbers(cells)
    known = [_NAN if cell in _ABSENT_SET else cell for cell in plain]
    together = "".join(known)
    try:
        if not together.isascii() or "_" in together:
            raise ValueError("digits of another script, or grouped ones")
        values = np.fromiter(map(float, known), np.float64, len(known))
    except ValueError:
        found = reals(plain)
        values = np.where(found.valid, found.values, np.nan)
    with np.errstate(over="ignore", invalid="ignore"):
        values = values * factor
    valid = np.isfinite(values)
    _tell_unreadable(cells, valid)
    return Nullable(values, valid)


def size_cells(cells: Cells | None, factor: int) -> Nullable | None:
    """Return decimal cells times a factor, rounded to whole numbers; absent, unreadable or too large ones are null."""
    numbers = float_cells(cells, factor)
    if numbers is None:
        return None
    valid = numbers.valid & (np.abs(numbers.values) < 1 << 62)
    _tell_unreadable(cells or (), valid)
    return Nullable(np.rint(np.where(valid, numbers.values, 0)).astype(np.int64), valid)


def _scaled(cells: Cells, scale_digits: int) -> Nullable:
    """Return decimal cells times 10**scale_digits: digit by digit over all rows, what is odd one by one."""
    texts = _plain_numbers(cells)
    values, plain = _plain_decimals(texts, scale_digits)
    valid = plain.copy()
    for i in np.flatnonzero(~plain).tolist():
        number = decimal_text_to_int(texts[i], scale_digits)
        if number is not None:
            values[i], valid[i] = number, True
    _tell_unreadable(cells, valid)
    return Nullable(values, valid)


def _plain_numbers(cells: Cells) -> Cells:
    """Return cells with grouped digits or decimal commas as plain numbers, as their file writes them."""
    return plain_numbers(cells, cells.signs) if isinstance(cells, _Column) else cells


def _tell_unreadable(cells: Cells, valid: npt.NDArray[np.bool_]) -> None:
    """Count in the ledger, once for a column, the cells that hold something and no number."""
    if not isinstance(cells, _Column) or bool(valid.all()) or cells.name in cells.origin.told:
        return
    written = cells if cells.written is None else cells.written
    bad = [i for i in np.flatnonzero(~valid).tolist() if written[i].strip(STRIPPED).lower() not in NOTHING]
    if bad:
        origin = cells.origin
        example = f"{cells.name} = {written[bad[0]]!r}"
        origin.ledger.add(origin.file, "unreadable_cell", place=origin.place(bad[0]), count=len(bad), example=example)
        origin.told[cells.name] = origin.ledger.entries[-1]


def _plain_decimals(cells: Cells, scale_digits: int) -> tuple[Int64, npt.NDArray[np.bool_]]:
    """Return the numbers of cells that are digits with at most one point, and where that is so."""
    nothing = np.zeros(len(cells), np.int64), np.zeros(len(cells), np.bool_)
    # Cells end with a TAB, some are quoted.
    bare = [cell.strip(STRIPPED) for cell in cells]
    if "\0" in "".join(bare):
        return nothing  # NumPy ends a text there
    try:
        fixed = np.array(bare, np.bytes_)
    except UnicodeEncodeError:
        return nothing
    width = fixed.dtype.itemsize
    if not width or width > _WIDEST_NUMBER:
        return nothing
    letters = fixed.view(np.uint8).reshape(len(bare), width)
    digits, points = (letters >= ord("0")) & (letters <= ord("9")), letters == ord(".")
    length = np.count_nonzero(letters, axis=1)
    point_count = np.count_nonzero(points, axis=1)
    has_point = point_count == 1
    fraction = np.where(has_point, length - 1 - points.argmax(axis=1), 0)
    plain = (np.count_nonzero(digits, axis=1) + point_count == length) & (point_count <= 1)
    plain &= (length > point_count) & (length <= _MOST_DIGITS) & (fraction <= scale_digits) & digits[:, 0]
    values = np.zeros(len(bare), np.int64)
    for column in range(min(width, _MOST_DIGITS)):
        digit = digits[:, column]
        values = np.where(digit, values * 10 + (letters[:, column] - ord("0")), values)
    return values * 10 ** np.where(plain, scale_digits - fraction, 0), plain


def _decoded(data: bytes, dialect: Dialect) -> str | None:
    try:
        return data.decode(dialect.encoding)
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


def _records(text: str, dialect: Dialect) -> tuple[list[str], list[list[str]], str]:
    """Return header, rows and what the parser failed on; blank lines are no records."""
    rows: list[list[str]] = []
    failure = ""
    with _any_field_size():
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=dialect.delimiter)
        try:
            rows.extend(reader)
        except csv.Error as error:
            failure = str(error)
    rows = [row for row in rows if len(row) > 1 or (row and row[0].strip())]
    return (rows[0], rows[1:], failure) if rows else ([], [], failure)


def _line_of(path: Path, dialect: Dialect, record: int) -> int:
    """Return the line in which a record ends (0 is the header); asked for damage only, so the file is read again."""
    seen = -1
    with _any_field_size(), path.open(newline="", encoding=dialect.encoding, errors="replace") as file:
        reader = csv.reader(file, delimiter=dialect.delimiter)
        for row in reader:
            seen += len(row) > 1 or bool(row and row[0].strip())
            if seen == record:
                return reader.line_num
    return 0


def _of_width(origin: _Origin, width: int, rows: list[list[str]], wrong: Int64) -> tuple[list[list[str]], Int64]:
    """Return the rows of the header's width and their records.

    A table may be wider than its header by blank cells. It is so in every row: a single one was shifted by a comma in
    a text, and its last cell is blank.
    """
    wide = len({len(row) for row in rows}) == 1 and len(rows[0]) > width
    if wide and not any(cell.strip() for row in rows for cell in row[width:]):
        return [row[:width] for row in rows], origin.records
    fits = np.ones(len(rows), np.bool_)
    fits[wrong] = False
    others = np.flatnonzero(~fits)
    if len(others):
        first = int(others[0])
        example = f"{len(rows[first])} cells, not {width}: {','.join(rows[first])}"
        origin.ledger.add(origin.file, "row_width", place=origin.place(first), count=len(others), example=example)
    fitting = np.flatnonzero(fits)
    return [rows[i] for i in fitting.tolist()], fitting + 1


def _count_damaged_text(texts: Sequence[str], file: str, ledger: Ledger) -> None:
    damaged = [text for text in texts if _REPLACEMENT in text]
    if damaged:
        ledger.add(file, "invalid_utf8", count=len(damaged), example=damaged[0])
