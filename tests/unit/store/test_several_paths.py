"""Several paths are one input: as if the folder that they share held nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_sn.errors import EmptyInputError, InputError, UsageError
from ascend_sn.store import known_inputs, open_run
from ascend_sn.store.ingest import Progress
from ascend_sn.store.input import Input
from tests.unit.store.drawn_reader import DrawnReader, write_drawn

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def ranks(tmp_path: Path) -> list[Path]:
    """Three ranks of a run, each in a folder of its own; the run holds a fourth that is not named."""
    for rank in range(4):
        write_drawn(tmp_path / "run" / f"rank{rank}" / "p.txt", rank=rank, kernels=rank + 1)
    return [tmp_path / "run" / f"rank{rank}" for rank in range(3)]


def kernels(*paths: str | Path) -> list[tuple[str, int, int]]:
    with open_run(*paths) as run:
        return run.sql(
            "select source, p.rank, count(*) from kernel join profile p using (profile_id) group by all order by all"
        ).fetchall()


def test_ranks_named_one_by_one_are_one_run(drawn: DrawnReader, ranks: list[Path]) -> None:
    with open_run(*ranks) as run:
        found = run.sql("select rank, source, phase from profile order by profile_id").fetchall()
        counted = run.sql("select rank, count(*) from kernel group by all order by all").fetchall()

        assert found == [(rank, f"rank{rank}/p.txt", f"rank{rank}") for rank in range(3)]
        assert counted == [(0, 1), (1, 2), (2, 3)]


def test_files_named_one_by_one_are_one_job(drawn: DrawnReader, tmp_path: Path) -> None:
    files = [write_drawn(tmp_path / "run" / f"rank{rank}.txt", rank=rank) for rank in range(2)]

    with open_run(*files) as run:
        assert run.jobs == ("",)
        assert run.profiles.project("rank, source, phase").fetchall() == [
            (0, "rank0.txt", None),
            (1, "rank1.txt", None),
        ]


def test_a_sequence_means_the_same(drawn: DrawnReader, ranks: list[Path]) -> None:
    assert kernels(*ranks) == [("rank0/p.txt", 0, 1), ("rank1/p.txt", 1, 2), ("rank2/p.txt", 2, 3)]
    with open_run([str(rank) for rank in ranks]) as run:
        assert run.sql("select count(*) from kernel").fetchall() == [(6,)]


def test_paths_of_two_jobs_are_two_jobs(drawn: DrawnReader, tmp_path: Path) -> None:
    first = write_drawn(tmp_path / "monday" / "rank0" / "p.txt", rank=0)
    second = write_drawn(tmp_path / "tuesday" / "rank0" / "p.txt", rank=0)

    with open_run(first.parent, second.parent) as run:
        assert run.jobs == ("monday/rank0", "tuesday/rank0")


@pytest.mark.parametrize("again", ["rank1", "rank1/", "rank0/../rank1", "link", "rank1/p.txt"])
def test_what_is_named_twice_counts_once(drawn: DrawnReader, ranks: list[Path], again: str) -> None:
    run = ranks[0].parent
    (run / "link").symlink_to("rank1")

    found = kernels(ranks[0], ranks[1], str(run) + "/" + again)

    assert [rank for _, rank, _ in found] == [0, 1]


def test_a_folder_and_a_part_of_it_are_the_folder(drawn: DrawnReader, ranks: list[Path]) -> None:
    assert [rank for _, rank, _ in kernels(ranks[0].parent, ranks[1])] == [0, 1, 2, 3]


def test_a_link_keeps_its_name(drawn: DrawnReader, ranks: list[Path], tmp_path: Path) -> None:
    links = tmp_path / "links"
    links.mkdir()
    for number, rank in enumerate(ranks[:2]):
        (links / f"host{number}").symlink_to(rank)

    assert [source for source, _, _ in kernels(links / "host0", links / "host1")] == ["host0/p.txt", "host1/p.txt"]


def test_one_that_is_missing_is_named(drawn: DrawnReader, ranks: list[Path]) -> None:
    with pytest.raises(InputError, match=r"rank7: no such file or folder$"):
        open_run(*ranks, ranks[0].with_name("rank7"))


def test_one_that_is_empty_is_damage(drawn: DrawnReader, ranks: list[Path]) -> None:
    (empty := ranks[0].with_name("rank8")).mkdir()

    with open_run(*ranks, empty) as run:
        assert run.damage.project("file, kind, example").fetchall() == [("rank8", "unreadable", "holds no profile")]


def test_others_files_are_left_alone(drawn: DrawnReader, ranks: list[Path]) -> None:
    (notes := ranks[0].with_name("notes.txt")).write_text("mine")

    with open_run(ranks[0], notes) as run:
        assert run.damage.project("file, kind, severity").fetchall() == [
            ("run/{notes.txt, rank0}", "foreign_files", "info")
        ]


def test_nothing_in_any_of_them_is_an_error(drawn: DrawnReader, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()

    with pytest.raises(EmptyInputError, match="no profile found here; a holds no profile"):
        open_run(tmp_path / "a", tmp_path / "b")


def test_a_cache_in_one_of_them_is_refused(drawn: DrawnReader, ranks: list[Path]) -> None:
    with pytest.raises(UsageError, match="the cache lies inside the input"):
        open_run(*ranks, cache_dir=ranks[1] / "cache")


def test_a_cache_beside_them_is_not(drawn: DrawnReader, ranks: list[Path]) -> None:
    with open_run(*ranks, cache_dir=ranks[0].parent / "cache") as run:
        assert len(run.manifest.profiles) == 3


def test_a_run_folder_of_ours_is_opened_alone(drawn: DrawnReader, ranks: list[Path]) -> None:
    with open_run(*ranks) as run:
        own = run.path

    with pytest.raises(UsageError, match="is a run folder of ascend-sn, which is opened alone"):
        open_run(ranks[0], own)


def test_the_order_does_not_matter_and_nothing_is_read_again(drawn: DrawnReader, ranks: list[Path]) -> None:
    with open_run(*ranks) as first, open_run(*reversed(ranks)) as second:
        assert first.path == second.path
    assert len(drawn.calls) == 3


def test_what_was_read_of_the_folder_is_taken_over(drawn: DrawnReader, ranks: list[Path]) -> None:
    with open_run(ranks[0].parent), open_run(*ranks) as some:
        assert len(some.manifest.profiles) == 3
    assert len(drawn.calls) == 4


def test_unchanged_paths_are_recalled_whatever_happens_beside_them(
    drawn: DrawnReader, ranks: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_inputs, "SETTLED_AFTER_NS", 0)
    with open_run(*ranks):
        pass
    (ranks[0].parent / "another").mkdir()
    monkeypatch.setattr("ascend_sn.formats.discover.discover", None)  # whoever looks again fails

    assert len(kernels(*ranks)) == 3


@pytest.mark.parametrize("through_link", [False, True])
def test_a_file_that_comes_into_one_of_them_is_noticed(
    drawn: DrawnReader, ranks: list[Path], monkeypatch: pytest.MonkeyPatch, through_link: bool
) -> None:
    monkeypatch.setattr(known_inputs, "SETTLED_AFTER_NS", 0)
    (link := ranks[0].parent / "link").symlink_to(ranks[1])
    named = [ranks[0], link if through_link else ranks[1]]
    with open_run(*named):
        pass
    write_drawn(ranks[1] / "second.txt", rank=9)

    assert sorted(rank for _, rank, _ in kernels(*named)) == [0, 1, 9]


@pytest.mark.parametrize(
    ("count", "name"),
    [(1, "rank0"), (2, "run/{rank0, rank1}"), (3, "run/{rank0, rank1, rank2}"), (4, "run/{rank0, rank1, rank2, +1}")],
)
def test_what_the_input_is_called(ranks: list[Path], count: int, name: str) -> None:
    assert Input.of([*ranks, ranks[0].with_name("rank3")][:count]).name == name


def test_progress_names_every_source(drawn: DrawnReader, ranks: list[Path]) -> None:
    told: list[tuple[int, int, str]] = []
    progress: Progress = lambda done, total, name: told.append((done, total, name))  # noqa: E731

    with open_run(*ranks, progress=progress):
        pass

    assert told == [(0, 3, "rank0/p.txt"), (1, 3, "rank1/p.txt"), (2, 3, "rank2/p.txt")]
