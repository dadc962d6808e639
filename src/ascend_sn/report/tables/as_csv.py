"""The document as CSV: its tables one below the other, the name of the table in the first column of every line."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Final

from ascend_sn.model.printable import harmless
from ascend_sn.report.documents.run import Document
from ascend_sn.report.documents.views import View
from ascend_sn.report.tables.flat import flat_tables

__all__ = ["csv_text"]

_BYTE_ORDER_MARK: Final = "\ufeff"
"""Without it spreadsheets take UTF-8 for the local encoding."""


def csv_text(document: Document, view: View) -> str:
    """Return the tables of a view as CSV.

    A table begins with a line of its columns, whose first cell is `section`, and ends with an empty line; all lines of
    `kernels` begin with `kernels`. A cell is empty where a figure is not known.
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for number, table in enumerate(flat_tables(document, view)):
        if number:
            text.write("\n")
        writer.writerow(["section", *table.columns])
        writer.writerows([table.name, *map(harmless, row)] for row in table.rows)
    return _BYTE_ORDER_MARK + text.getvalue()
