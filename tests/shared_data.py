"""Where the shared sample data and field cases lie; tests that need them skip visibly without."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

__all__ = ["requires_shared", "shared_path", "shared_root"]

_DEFAULT = Path(__file__).resolve().parent.parent.parent / "shared"


def shared_root() -> Path | None:
    """Return the folder with `data/` and `cases/`: ASCEND_SN_SHARED, else `../shared` beside the repository."""
    root = Path(os.environ.get("ASCEND_SN_SHARED", _DEFAULT))
    return root if (root / "data").is_dir() else None


def shared_path(*parts: str) -> Path:
    """Return a path below the shared folder; a path that does not exist where there is none."""
    root = shared_root()
    return (root if root is not None else _DEFAULT).joinpath(*parts)


requires_shared = pytest.mark.skipif(
    shared_root() is None, reason="shared sample data is absent (ASCEND_SN_SHARED or ../shared)"
)
