"""The run folder: ingest once, columnar files, cache, versions, `open_run()`."""

from __future__ import annotations

from ascend_sn.store.run import Run, open_run

__all__ = ["Run", "open_run"]
