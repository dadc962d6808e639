"""Shards beside each other are the run that they are parts of; what is lost is named and tried again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.cluster.shards import Shard
from ascend_sn.errors import InputError, NothingChosenError, StoreError
from ascend_sn.store import Run, gather_build, locate, open_run, whole
from ascend_sn.store.gather import NOTHING, Shards
from ascend_sn.store.gather_build import build_gathered
from ascend_sn.store.mapping import Outcome
from ascend_sn.store.upgrade import load_manifest
from ascend_sn.store.whole import sum_of
from tests.unit.store.drawn_reader import DrawnReader, write_drawn


def cluster(folder: Path, ranks: int) -> Path:
    """Captures of so many ranks; rank r has r + 1 kernels."""
    for rank in range(ranks):
        write_drawn(folder / f"rank{rank}" / "p.txt", rank=rank, kernels=rank + 1)
    return folder


def kernels(run: Run) -> list[tuple[int | None, int]]:
    return run.sql("select rank, count(*) from kernel group by rank order by rank").fetchall()


def sharded(source: Path, output: Path, count: int) -> Path:
    """Every shard as its process would leave it."""
    for number in range(count):
        shard = Shard(number, count)
        shutil.copytree(locate(source, chosen=shard.of).folder, output / shard.name)
    return output


def test_files_of_a_damaged_manifest_are_named(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    shards = sharded(cluster(tmp_path / "in", 2), tmp_path / "shards", 2)
    damaged = shards / "shard-1-of-2" / "manifest.json"
    told = json.loads(damaged.read_text())
    damaged.write_text(json.dumps({**told, "sources": [{"path": 7}]}))

    with pytest.raises(StoreError, match=r"shard-1-of-2/manifest\.json: the manifest is damaged: Expected `str`"):
        open_run(shards)


def losing(lost: str) -> Callable[..., Iterator[Outcome[Any]]]:
    """A mapping whose worker dies with the source of that name."""

    def mapping(
        function: Callable[[Any], Any], items: Sequence[Any], size_bytes: Sequence[int], /
    ) -> Iterator[Outcome[Any]]:
        for at, item in enumerate(items):
            if item.source.name == lost:
                yield Outcome(at, lost="its worker process died")
            else:
                yield Outcome(at, function(item))

    return mapping


def test_shards_are_the_run_that_they_are_parts_of(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    source = cluster(tmp_path / "in", 5)

    with open_run(sharded(source, tmp_path / "shards", 2)) as run, open_run(source) as whole:
        ranks = run.sql("select profile_id, rank, source from profile order by 1").fetchall()

        assert kernels(run) == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
        assert ranks == whole.sql("select profile_id, rank, source from profile order by 1").fetchall()
        assert run.sql("select count(*) from damage").fetchall() == [(0,)]


def test_a_missing_shard_is_named_and_the_rest_is_used(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    shards = sharded(cluster(tmp_path / "in", 4), tmp_path / "shards", 4)
    kept = (tmp_path / "away").joinpath("shard-2-of-4")
    shutil.move(shards / "shard-2-of-4", kept)

    with open_run(shards) as run:
        before = kernels(run)
        damage = run.sql("select file, kind, severity, example from damage").fetchall()
    shutil.move(kept, shards / "shard-2-of-4")
    with open_run(shards) as run:
        after = kernels(run)

    assert before == [(0, 1), (1, 2), (3, 4)]
    assert damage == [
        ("shard 2 of 4", "absent_shard", "damage", "is not there: not written yet, or not copied"),
    ]
    assert after == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_a_shard_without_captures_is_not_missing(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    source = cluster(tmp_path / "in", 2)
    shards = sharded(source, tmp_path / "shards", 2)
    for number in (0, 1):
        (shards / f"shard-{number}-of-2").rename(shards / f"shard-{number}-of-3")
    (shards / "shard-2-of-3").mkdir()
    (shards / "shard-2-of-3" / NOTHING).touch()

    found = Shards.below(shards)

    assert found is not None
    assert ([path.name for path in found.present], found.absent) == (["shard-0-of-3", "shard-1-of-3"], [])
    with pytest.raises(NothingChosenError):
        locate(source, chosen=Shard(2, 3).of)


def test_a_damaged_shard_is_named(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    shards = sharded(cluster(tmp_path / "in", 2), tmp_path / "shards", 2)
    part = next((shards / "shard-1-of-2" / "kernel").rglob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-2])

    with pytest.raises(StoreError, match="shard-1-of-2"):
        open_run(shards)


def test_shards_of_two_splits_are_not_one_run(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    shards = sharded(cluster(tmp_path / "in", 3), tmp_path / "shards", 2)
    shutil.copytree(shards / "shard-0-of-2", shards / "shard-0-of-3")

    with pytest.raises(InputError, match="holds shards of 2 and of 3"):
        open_run(shards)


def test_other_folders_are_no_shards(tmp_path: Path) -> None:
    (tmp_path / "shard-0-of-2").mkdir()
    (tmp_path / "shard-x").mkdir()

    assert Shards.below(tmp_path) is None
    assert Shards.below(tmp_path / "absent") is None


def test_what_is_lost_is_named_and_only_that_is_read_again(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    source = cluster(tmp_path / "in", 3)

    first = locate(source, mapping=losing("rank1/p.txt"))
    manifest = load_manifest(first.folder)
    with Run(first.folder, first.input) as run:
        there, damage = kernels(run), run.sql("select file, kind, example from damage").fetchall()
    drawn.calls.clear()
    with open_run(source) as run:
        all_there, whole = kernels(run), run.manifest.lost
    again = list(drawn.calls)
    drawn.calls.clear()
    open_run(source).close()

    assert [(one.source, one.reason) for one in manifest.lost] == [("rank1/p.txt", "its worker process died")]
    assert there == [(0, 1), (2, 3)]
    assert damage == [("rank1/p.txt", "lost", "its worker process died")]
    assert (again, all_there, whole) == (["rank1/p.txt"], [(0, 1), (1, 2), (2, 3)], [])
    assert drawn.calls == []


def test_a_run_of_which_everything_is_lost_says_why(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    source = cluster(tmp_path / "in", 1)

    with pytest.raises(StoreError, match="was not read: its worker process died"):
        locate(source, mapping=losing("rank0/p.txt"))


def test_a_shard_with_a_changed_bit_in_a_table_is_named(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    shards = sharded(cluster(tmp_path / "in", 2), tmp_path / "shards", 2)
    (part,) = (shards / "shard-1-of-2").glob("kernel/*/part-0.parquet")
    whole = part.read_bytes()
    middle = len(whole) // 2
    part.write_bytes(whole[:middle] + bytes([whole[middle] ^ 4]) + whole[middle + 1 :])

    with pytest.raises(StoreError, match="its bytes are not those that were written") as caught:
        open_run(shards)

    assert caught.value.path == part


def test_shards_are_summed_up_to_one_limit(
    drawn: DrawnReader, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = sharded(cluster(tmp_path / "in", 4), tmp_path / "shards", 4)
    first = sum(part.stat().st_size for part in (shards / "shard-0-of-4").glob("*/*/part-0.parquet"))
    largest = max(part.stat().st_size for part in shards.rglob("part-0.parquet"))
    summed: list[Path] = []

    def summing(part: Path) -> int:
        summed.append(part)
        return sum_of(part)

    monkeypatch.setattr(gather_build, "SUMMED_BYTES", first)
    monkeypatch.setattr(whole, "sum_of", summing)

    build_gathered(Shards(shards, sorted(shards.iterdir()), []), tmp_path / "built", input_name="x")

    assert "shard-0-of-4" in str(summed[0])
    assert first <= sum(part.stat().st_size for part in summed) < first + largest


def test_a_shard_that_was_copied_under_another_name_counts_once(
    drawn: DrawnReader, cache: Path, tmp_path: Path
) -> None:
    shards = sharded(cluster(tmp_path / "in", 4), tmp_path / "shards", 2)
    shutil.rmtree(shards / "shard-1-of-2")
    shutil.copytree(shards / "shard-0-of-2", shards / "shard-1-of-2")

    with open_run(shards) as run:
        held = kernels(run)
        damage = run.sql("select kind, example from damage order by file").fetchall()

    assert held == [(0, 1), (2, 3)]
    assert damage == [("repeated_capture", "shard-1-of-2 holds what shard-0-of-2 holds")] * 2


def test_shards_of_overlapping_inputs_count_their_common_captures_once(
    drawn: DrawnReader, cache: Path, tmp_path: Path
) -> None:
    source = cluster(tmp_path / "in", 3)
    shards = sharded(source, tmp_path / "shards", 2)
    shutil.rmtree(shards / "shard-1-of-2")
    (shards / "shard-1-of-2").symlink_to(locate(source).folder)  # all of it, and by a link

    with open_run(shards) as run:
        assert kernels(run) == [(0, 1), (1, 2), (2, 3)]


def test_a_shard_beyond_the_split_is_refused(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    shards = sharded(cluster(tmp_path / "in", 4), tmp_path / "shards", 2)
    (shards / "shard-1-of-2").rename(shards / "shard-2-of-2")

    with pytest.raises(InputError, match="holds shard-2-of-2, which is none of 2 shards; remove it"):
        open_run(shards)
