"""A table of the user's `ascend-sn.toml`, and the variables that its texts name."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from ascend_sn.errors import UnknownNameError, UsageError
from ascend_sn.model.settings_tables import read_settings
from ascend_sn.store.environment import variable

__all__ = ["FILE_NAME", "settings_table", "with_variables"]

FILE_NAME: Final = "ascend-sn.toml"
"""The user's settings."""

_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")


def settings_table(path: Path, table: str, known: tuple[str, ...]) -> dict[str, Any]:
    """Return a table of a settings file; empty where the file or the table is not there.

    Raises:
        UsageError: The file cannot be used, or the table is none.
        UnknownNameError: It sets something that is not there, or holds a table that is none of ours.
    """
    found: Any = read_settings(path).get(table, {})
    if not isinstance(found, dict):
        raise UsageError(f"{path}: [{table}] is not a table")
    for name in found:
        if name not in known:
            raise UnknownNameError(f"setting in [{table}] of {path.name}", name, known, _nearest(name, known))
    return found


def _nearest(name: str, known: tuple[str, ...]) -> str | None:
    return next(iter(get_close_matches(name, known, n=1)), None)


def with_variables(text: str) -> tuple[str, list[str]]:
    """Put environment variables in the place of `${NAME}`, and name those that are not set.

    Secrets belong into variables: the settings file is kept with the program that it belongs to.
    """
    missing = [name for name in _VARIABLE.findall(text) if variable(name) is None]
    return _VARIABLE.sub(lambda found: variable(found[1]) or "", text), missing
