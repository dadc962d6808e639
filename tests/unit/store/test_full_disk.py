"""A full disk: what lies on the others is used, the gap is named, a second attempt reads only what is missing."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.cluster.executors import over
from ascend_sn.cluster.shards import Shard
from ascend_sn.errors import StoreError
from ascend_sn.model.tables import BY_NAME
from ascend_sn.store import Run, locate, open_run
from ascend_sn.store.parquet import write_parquet
from tests.small_disk import small_disk
from tests.unit.store.drawn_reader import DrawnReader
from tests.unit.store.test_shards_opened import cluster


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KiB on which not a byte is left."""
    with small_disk(tmp_path / "full", 64 << 10) as place:
        _fill(place / "filling")
        yield place


def _fill(path: Path) -> None:
    with path.open("wb", 0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def tables(run: Run) -> dict[str, list[str]]:
    return {name: sorted(map(repr, run.sql(f"select * from {name}").fetchall())) for name in BY_NAME}


def test_a_node_whose_disk_is_full(drawn: DrawnReader, cache: Path, full: Path, tmp_path: Path) -> None:
    source = cluster(tmp_path / "in", 6)
    shards = tmp_path / "shards"

    def read(number: int, own_cache: Path) -> None:
        shard = Shard(number, 3)
        shutil.copytree(locate(source, cache_dir=own_cache, chosen=shard.of).folder, shards / shard.name)

    read(0, tmp_path / "node0")
    with pytest.raises(StoreError, match="No space left on device"):
        read(1, full)
    read(2, tmp_path / "node2")
    with open_run(shards) as run:
        ranks = [rank for (rank,) in run.sql("select rank from profile order by rank").fetchall()]
        named = run.sql("select file, kind from damage").fetchall()
    (full / "filling").unlink()
    subprocess.run(["mount", "-o", "remount,size=64m", str(full)], check=True)
    drawn.calls.clear()
    read(1, full)
    again = sorted(drawn.calls)

    with open_run(shards) as run, open_run(source) as whole:
        assert (ranks, named) == ([0, 2, 3, 5], [("shard 1 of 3", "absent_shard")])
        assert again == ["rank1/p.txt", "rank4/p.txt"]
        assert tables(run) == tables(whole)


def test_a_worker_whose_disk_is_full(
    drawn: DrawnReader, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = cluster(tmp_path / "in", 4)

    def full_for_rank_2(db: Any, rows: Any, path: Path, *, rank: int | None) -> None:
        if rank == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write_parquet(db, rows, path, rank=rank)

    def by_workers(function: Any, items: Any, sizes: Any, /) -> Any:
        with ThreadPoolExecutor(2) as pool:
            yield from over(pool, function, items, range(len(items)), at_once=2)

    with monkeypatch.context() as patch:
        patch.setattr("ascend_sn.store.reading.write_parquet", full_for_rank_2)
        first = locate(source, mapping=by_workers)
        with Run(first.folder, first.input) as run:
            ranks = [rank for (rank,) in run.sql("select rank from profile order by rank").fetchall()]
            ((file, kind, example),) = run.sql("select file, kind, example from damage").fetchall()
    drawn.calls.clear()
    second = locate(source, mapping=by_workers)
    again = list(drawn.calls)
    of_one = locate(source, cache_dir=tmp_path / "whole")

    assert ranks == [0, 1, 3]
    assert (file, kind) == ("rank2/p.txt", "lost")
    assert "No space left on device" in example
    assert again == ["rank2/p.txt"]
    with Run(second.folder, second.input) as run, Run(of_one.folder, of_one.input) as whole:
        assert tables(run) == tables(whole)
