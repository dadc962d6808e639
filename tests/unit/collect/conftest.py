"""No test may leave a profiler running, and none runs as a rank of a job."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _no_profiler_left_running(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("RANK", "RANK_ID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    yield
    left = [thread.name for thread in threading.enumerate() if thread.name == "ascend-sn-writer"]
    assert not left, "a profiler was left running"
