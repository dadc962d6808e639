"""Ranks read by a real Dask cluster on loopback; one of its workers is killed in the middle."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.analysis.summaries import open_summaries
from ascend_sn.cluster.dask import dask_mapping
from ascend_sn.errors import UsageError
from ascend_sn.model.tables import BY_NAME
from ascend_sn.store import Location, Run, locate
from ascend_sn.store.mapping import in_turn
from tests.integration.dask_cluster import Cluster, dask_cluster
from tests.shared_data import requires_shared, shared_path

SUMMARIES = ("step_breakdown", "collective_parts", "kernel_statistics", "link_matrix")


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with dask_cluster() as found:
        yield found


def tables(location: Location) -> dict[str, list[Any]]:
    with Run(location.folder, location.input) as run:
        return {name: sorted(map(repr, run.sql(f"select * from {name}").fetchall())) for name in BY_NAME}


def summaries(location: Location, mapping: Any, cache: Path) -> dict[str, list[Any]]:
    with open_summaries(location, mapping=mapping, cache_dir=cache) as run:
        return {name: run.sql(f"select * from summary_{name}").fetchall() for name in SUMMARIES}


@requires_shared
def test_a_killed_worker_changes_nothing(cluster: Cluster, tmp_path: Path) -> None:
    paths = [
        shared_path("data", "torch_npu", "text", "level1"),
        shared_path("data", "torch_npu", "text", "level0"),
        shared_path("data", "torch_npu", "db", "level1"),
    ]
    killed: list[int] = []

    def kill_one(done: int, total: int, name: str) -> None:
        if done and not killed:
            killed.append(cluster.workers[0].pid)
            os.kill(cluster.workers[0].pid, signal.SIGKILL)

    with dask_mapping(cluster.address) as mapping:
        by_dask = locate(paths, cache_dir=tmp_path / "dask", mapping=mapping, progress=kill_one)
        of_dask = summaries(by_dask, mapping, tmp_path / "dask")
    here = locate(paths, cache_dir=tmp_path / "here")

    assert killed
    assert tables(by_dask) == tables(here)
    assert of_dask == summaries(here, in_turn, tmp_path / "here")


def test_where_no_scheduler_is_one_line_says_so() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"

        with pytest.raises(UsageError, match="no Dask scheduler answers"), dask_mapping(address):
            pass
