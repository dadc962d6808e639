"""What a reader may not leave out: without it a row has no place, no length or no name in any analysis."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ascend_sn.errors import FormatError
from ascend_sn.model.capture import Capture

__all__ = ["check_needed"]


def check_needed(capture: Capture, path: Path) -> None:
    """Check what a reader gave for the columns that every row needs.

    Args:
        capture: What the reader returned, before anything is derived.
        path: What it read.

    Raises:
        FormatError: A needed column is absent, in all rows or in some.
    """
    for name, rows in capture.tables.items():
        for column in rows.table.needed:
            lacking = rows.length - int(np.count_nonzero(rows.valid(column)))
            if lacking:
                which = "every row" if lacking == rows.length else f"{lacking} of {rows.length} rows"
                raise FormatError(path, f"the reader {capture.header.format!r} leaves out {name}.{column} in {which}")
