"""A Dask cluster on loopback: a scheduler and two workers, each a process of its own."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = ["Cluster", "dask_cluster"]

_WORKERS = 2
_PATIENCE_S = 60


@dataclass
class Cluster:
    address: str
    workers: list[subprocess.Popen[bytes]]


@contextmanager
def dask_cluster() -> Iterator[Cluster]:
    """Start the cluster; it is there once both workers are."""
    distributed: Any = import_module("distributed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    local = ("--host", "127.0.0.1", "--no-dashboard")
    scheduler = _started("scheduler", "--port", str(port), *local)
    workers = [_started("worker", address, "--nthreads", "1", "--no-nanny", *local) for _ in range(_WORKERS)]
    try:
        with distributed.Client(address, timeout=_PATIENCE_S) as client:
            client.wait_for_workers(_WORKERS, timeout=_PATIENCE_S)
        yield Cluster(address, workers)
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


def _started(*words: str) -> subprocess.Popen[bytes]:
    silent = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, "-m", "dask", *words], stdout=silent, stderr=silent)
