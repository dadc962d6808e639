"""Summaries: results per profile in batches, compacted, taken over, and named where they are lacking."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.cluster.shards import Shard
from ascend_sn.errors import StoreError
from ascend_sn.model.manifest import MANIFEST_NAME
from ascend_sn.store import Run, locate
from ascend_sn.store.mapping import Outcome, in_turn
from ascend_sn.store.summaries import Batch, BatchMade, Summaries, show_profiles, summaries_of, write_result
from tests.unit.store.drawn_reader import DrawnReader
from tests.unit.store.test_shards_opened import cluster

MADE: list[tuple[int, ...]] = []


def counted(batch: Batch) -> BatchMade:
    """Count kernels per profile, and remember the batch."""
    MADE.append(batch.profiles)
    with show_profiles(batch, batch.profiles) as db:
        write_result(db, batch, "kernels", "select profile_id, count(*) as kernels from kernel group by profile_id")
        write_result(db, batch, "profile", "select * from profile")
        write_result(db, batch, "damage", "select * from damage")
    return BatchMade({})


@pytest.fixture(autouse=True)
def nothing_made() -> None:
    MADE.clear()


def rows(location: Any, summaries: Summaries) -> list[tuple[int, int]]:
    with Run(location.folder, location.input, summaries=summaries) as run:
        return run.sql("select profile_id, kernels from summary_kernels order by all").fetchall()


def test_batches_are_compacted_into_one_table(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    location = locate(cluster(tmp_path / "in", 70))

    summaries = summaries_of(location, counted, mapping=in_turn)

    assert [len(batch) for batch in MADE] == [32, 32, 6]
    assert rows(location, summaries) == [(rank, rank + 1) for rank in range(70)]
    assert summaries.row_count == 140  # a row of kernels and one of profile each
    assert summaries.lost == []


def test_they_are_made_once(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    location = locate(cluster(tmp_path / "in", 3))

    first = summaries_of(location, counted, mapping=in_turn)
    second = summaries_of(location, counted, mapping=in_turn)

    assert (len(MADE), first) == (1, second)


def test_batches_that_did_not_change_are_taken_over(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    source = cluster(tmp_path / "in", 40)
    summaries_of(locate(source), counted, mapping=in_turn)
    cluster(tmp_path / "in", 41)  # writes the others anew
    shutil.rmtree(tmp_path / "in" / "rank40")
    cluster_of_one = tmp_path / "in" / "rank99"
    shutil.copytree(tmp_path / "in" / "rank39", cluster_of_one)
    summaries_of(locate(source), counted, mapping=in_turn)
    MADE.clear()
    shutil.rmtree(cluster_of_one)

    location = locate(source)
    summaries = summaries_of(location, counted, mapping=in_turn)

    assert [len(batch) for batch in MADE] == [8]  # the first 32 are as they were
    assert rows(location, summaries) == [(rank, rank + 1) for rank in range(40)]


def test_what_shards_made_is_taken_over(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    source = cluster(tmp_path / "in", 6)
    shards = tmp_path / "shards"
    for number in range(2):
        location = locate(source, chosen=Shard(number, 2).of)
        summaries_of(location, counted, mapping=in_turn)
        shutil.copytree(location.folder, shards / Shard(number, 2).name)
    MADE.clear()

    location = locate(shards)
    summaries = summaries_of(location, counted, mapping=in_turn)

    assert MADE == []
    assert rows(location, summaries) == [(rank, rank + 1) for rank in range(6)]


def test_a_run_folder_of_the_user_is_not_written_to(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    shutil.copytree(locate(cluster(tmp_path / "in", 2)).folder, own)
    before = sorted(own.rglob("*"))

    location = locate(own)
    summaries = summaries_of(location, counted, mapping=in_turn)

    assert sorted(own.rglob("*")) == before
    assert rows(location, summaries) == [(0, 1), (1, 2)]


def own_run(tmp_path: Path) -> Path:
    """A run folder of the user's, two ranks."""
    own = tmp_path / "own"
    shutil.copytree(locate(cluster(tmp_path / "in", 2)).folder, own)
    return own


def test_summaries_are_made_of_whole_runs_only(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    own = own_run(tmp_path)
    shutil.rmtree(own / "kernel" / "profile=1")

    with pytest.raises(StoreError, match=r"kernel/profile=1: missing in the run folder"):
        summaries_of(locate(own), counted, mapping=in_turn)


def test_who_asks_the_summaries_looks_into_no_table(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    own = own_run(tmp_path)
    summaries_of(locate(own), counted, mapping=in_turn)
    shutil.rmtree(own / "kernel" / "profile=1")

    location = locate(own)
    summaries = summaries_of(location, counted, mapping=in_turn)

    assert rows(location, summaries) == [(0, 1), (1, 2)]
    with pytest.raises(StoreError, match=r"kernel/profile=1: missing in the run folder"):
        Run(own, location.input, profiles=[1], summaries=summaries)


def test_a_worker_needs_no_manifest(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    # It describes all ranks: read by every batch, it would cost the square of their number.
    location = locate(cluster(tmp_path / "in", 34))

    def without_manifest(
        function: Callable[[Any], Any], items: Sequence[Any], size_bytes: Sequence[int], /
    ) -> Iterator[Outcome[Any]]:
        manifest = location.folder / MANIFEST_NAME
        away = manifest.rename(tmp_path / "away")
        made = [Outcome(at, function(item)) for at, item in enumerate(items)]
        away.rename(manifest)
        yield from made

    summaries = summaries_of(location, counted, mapping=without_manifest)

    assert rows(location, summaries) == [(rank, rank + 1) for rank in range(34)]


def losing_once() -> Callable[..., Iterator[Outcome[Any]]]:
    """A mapping whose first worker dies with the last item."""
    calls = iter((True, False))

    def mapping(
        function: Callable[[Any], Any], items: Sequence[Any], size_bytes: Sequence[int], /
    ) -> Iterator[Outcome[Any]]:
        loses = next(calls)
        for at, item in enumerate(items):
            yield Outcome(at, lost="died") if loses and at == len(items) - 1 else Outcome(at, function(item))

    return mapping


def test_a_lost_batch_is_named_and_only_that_is_made_again(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    location = locate(cluster(tmp_path / "in", 34))
    mapping = losing_once()

    first = summaries_of(location, counted, mapping=mapping)
    without = rows(location, first)
    MADE.clear()
    second = summaries_of(location, counted, mapping=mapping)

    assert [(one.source, one.reason) for one in first.lost] == [("rank32/p.txt", "died"), ("rank33/p.txt", "died")]
    assert without == [(rank, rank + 1) for rank in range(32)]
    assert MADE == [(32, 33)]
    assert second.lost == []
    assert rows(location, second) == [(rank, rank + 1) for rank in range(34)]


def nothing_works(batch: Batch) -> BatchMade:
    return BatchMade(dict.fromkeys(range(len(batch.profiles)), "cannot be read"))


def test_without_any_summary_the_first_reason_is_said(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    location = locate(cluster(tmp_path / "in", 2))

    with pytest.raises(StoreError, match="no profile could be summarised: cannot be read"):
        summaries_of(location, nothing_works, mapping=in_turn)
