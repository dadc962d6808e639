"""The user's `ascend-sn.toml`: read whole, with the tables that it may hold."""

from __future__ import annotations

import os
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from ascend_sn.errors import UnknownNameError, UsageError

__all__ = ["read_settings"]

_TABLES: Final = ("advisor", "gate", "history", "notify")


def read_settings(path: Path) -> dict[str, Any]:
    """Return the tables of a settings file; none where there is no file.

    Raises:
        UsageError: What lies there is no file, cannot be read, or is no TOML: other limits than those that somebody
            set would hold.
        UnknownNameError: It holds a table that nothing reads: a misspelt one.
    """
    if not os.path.lexists(path):
        return {}
    if not path.is_file():
        raise UsageError(f"{path}: cannot be used: it is no file, or a link that leads to none")
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except RecursionError as error:
        raise UsageError(f"{path}: cannot be used: nested too deeply") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: cannot be used: {str(error).splitlines()[0]}") from error
    for name in found:
        if name not in _TABLES:
            nearest = next(iter(get_close_matches(name, _TABLES, n=1)), None)
            raise UnknownNameError(f"table in {path.name}", name, _TABLES, nearest)
    return found
