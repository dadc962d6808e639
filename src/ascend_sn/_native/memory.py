"""Memory that was freed, back to the system."""

from __future__ import annotations

from typing import Final

from ascend_sn._native import _core

__all__ = ["release_free"]

_MANY_ROWS: Final = 1_000_000


def release_free(row_count: int) -> None:
    """Give back what was freed, where the allocator can, after work on very many rows; else it is not worth the time.

    The columns of a large trace leave hundreds of megabytes behind in pieces that later work does not fill.
    """
    if row_count >= _MANY_ROWS:
        _core.release_free()
