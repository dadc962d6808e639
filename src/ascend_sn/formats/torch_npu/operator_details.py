"""operator_details.csv: the trace holds the same, so it is looked at only for what to tell about it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ascend_sn.model.ledger import Ledger

__all__ = ["check_operator_details"]

_COLUMN: Final = b"Name"
_NOTHING_LOST: Final = "its figures come from the trace; nothing is lost"


def check_operator_details(path: Path, file: str, ledger: Ledger) -> None:
    """Say in the ledger when the file is not what its name says; no row of it is used."""
    try:
        data = path.read_bytes()
    except OSError as error:
        ledger.add(file, "unreadable_file", example=f"{error.strerror}; {_NOTHING_LOST}", severity="info")
        return
    if not data.strip():
        ledger.add(file, "empty_file", severity="info")
        return
    first = data.partition(b"\n")[0]
    if _COLUMN not in first:
        ledger.add(file, "unknown_header", place="line 1", example=_NOTHING_LOST, severity="info")
        return
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        ledger.add(file, "invalid_utf8", place=f"line {line}", example=_NOTHING_LOST, severity="info")
