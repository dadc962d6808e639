"""The environment variables that the store reads."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_folder", "cache_limit_bytes"]

_DEFAULT_LIMIT_BYTES = 20_000_000_000


def cache_folder() -> Path:
    """`ASCEND_SN_CACHE_DIR`, else `$XDG_CACHE_HOME/ascend-sn`, else `~/.cache/ascend-sn`."""
    explicit = os.environ.get("ASCEND_SN_CACHE_DIR")
    if explicit:
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ascend-sn"


def cache_limit_bytes() -> int:
    """`ASCEND_SN_CACHE_MAX` in bytes, else 20 GB."""
    text = os.environ.get("ASCEND_SN_CACHE_MAX", "")
    return int(text) if text.isdigit() else _DEFAULT_LIMIT_BYTES
