"""The run folder: ingest once, columnar files, cache, versions, `open_run()`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ascend_sn.store.locate import Location, locate

if TYPE_CHECKING:
    from ascend_sn.store.run import Run, open_run

__all__ = ["Location", "Run", "locate", "open_run"]


def __getattr__(name: str) -> Any:
    """Load what needs DuckDB only when it is used."""
    if name in ("Run", "open_run"):
        from ascend_sn.store import run

        return getattr(run, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
