"""The tables that the user's `ascend-sn.toml` may hold."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from ascend_sn.errors import UnknownNameError

__all__ = ["check_tables"]

_TABLES: Final = ("advisor", "gate", "history", "notify")


def check_tables(path: Path, found: Iterable[str]) -> None:
    """Refuse a table that nothing reads: it is a misspelt one.

    Raises:
        UnknownNameError: There is one.
    """
    for name in found:
        if name not in _TABLES:
            nearest = next(iter(get_close_matches(name, _TABLES, n=1)), None)
            raise UnknownNameError(f"table in {path.name}", name, _TABLES, nearest)
