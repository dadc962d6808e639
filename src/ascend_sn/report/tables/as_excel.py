"""The document as an Excel workbook: a sheet per table."""

from __future__ import annotations

import zipfile
from io import BytesIO
from typing import Final

from xlsxwriter import Workbook

from ascend_sn.report.documents.run import Document
from ascend_sn.report.documents.views import View
from ascend_sn.report.tables.flat import Cell, FlatTable, flat_tables
from ascend_sn.report.words.printable import printable

__all__ = ["excel_bytes"]

_EXACT: Final = 1 << 53
"""Whole numbers beyond it are no numbers to Excel: they are written as text."""

_FIELD: Final = 0x5341
"""Kind of the extra field; none of the kinds that archivers know."""

_LONGEST: Final = 32_767
_WIDEST: Final = 60
_ROWS: Final = 1_000_000


def excel_bytes(document: Document, view: View) -> bytes:
    """Return the tables of a view as a workbook; texts are texts, never formulas or links."""
    held = BytesIO()
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True}
    with Workbook(held, options) as book:
        formats = {
            "head": book.add_format({"bold": True, "bottom": 1}),
            "_ratio": book.add_format({"num_format": "0.0 %"}),
            "whole": book.add_format({"num_format": "#,##0"}),
        }
        for table in flat_tables(document, view):
            _write(book, table, formats)
    return _marked(held, document.generator)


def _marked(workbook: BytesIO, mark: str) -> bytes:
    """Return the archive with a text, uncompressed, in an extra field at its beginning.

    By it the file is known as ours without being unpacked.
    """
    text = mark.encode()
    marked = BytesIO()
    with zipfile.ZipFile(workbook) as read, zipfile.ZipFile(marked, "w", zipfile.ZIP_DEFLATED) as written:
        for number, entry in enumerate(read.infolist()):
            content = read.read(entry)
            if number == 0:
                entry.extra = _FIELD.to_bytes(2, "little") + len(text).to_bytes(2, "little") + text
            written.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return marked.getvalue()


def _write(book: Workbook, table: FlatTable, formats: dict[str, object]) -> None:
    sheet = book.add_worksheet(table.name)
    sheet.freeze_panes(1, 0)
    sheet.write_row(0, 0, table.columns, formats["head"])
    rows = table.rows[:_ROWS]
    for column, name in enumerate(table.columns):
        style = formats["_ratio"] if name.endswith("_ratio") else formats["whole"]
        cells = [row[column] for row in rows]
        width = max(len(name), *(len(str(cell)) for cell in cells)) + 2
        sheet.set_column(column, column, min(width, _WIDEST))
        for at, cell in enumerate(cells, start=1):
            _write_cell(sheet, at, column, cell, style)
    sheet.autofilter(0, 0, len(rows), len(table.columns) - 1)


def _write_cell(sheet: Workbook.worksheet_class, row: int, column: int, cell: Cell, style: object) -> None:
    if cell is None:
        return
    if isinstance(cell, bool):
        sheet.write_boolean(row, column, cell)
    elif isinstance(cell, str):
        sheet.write_string(row, column, printable(cell)[:_LONGEST])
    elif isinstance(cell, int) and abs(cell) > _EXACT:
        sheet.write_string(row, column, str(cell))
    else:
        sheet.write_number(row, column, cell, style)
