"""The cache: an unchanged input is not read again, a changed one is, and half a build is never taken for a whole."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from ascend_sn.errors import StoreError
from ascend_sn.store import Run, open_run, reading, run_parts
from tests.unit.store.drawn_reader import DrawnReader, write_drawn


def kernels(run: Run) -> list[tuple[int, int]]:
    """How many kernels each profile has."""
    return run.sql("select profile_id, count(*) from kernel group by 1 order by 1").fetchall()


def finished(cache: Path) -> list[str]:
    """Names of the run folders in the cache."""
    return sorted(path.name for path in (cache / "runs").iterdir() if path.is_dir())


def test_the_second_opening_reads_nothing(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    source = write_drawn(tmp_path / "p.txt", kernels=4)

    first, second = open_run(source), open_run(source)

    assert drawn.calls == ["p.txt"]
    assert first.path == second.path
    assert kernels(second) == [(0, 4)]


def test_the_cache_may_be_named_as_text(drawn: DrawnReader, tmp_path: Path) -> None:
    source = write_drawn(tmp_path / "in" / "p.txt")

    run = open_run(source, cache_dir=str(tmp_path / "elsewhere"))

    assert finished(tmp_path / "elsewhere") == [run.path.name]


def test_another_spelling_of_the_path_is_the_same_input(
    drawn: DrawnReader, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_drawn(tmp_path / "in" / "p.txt")
    monkeypatch.chdir(tmp_path)

    for spelling in (tmp_path / "in", Path("in"), Path("in/../in")):
        open_run(spelling)

    assert drawn.calls == ["p.txt"]


def test_a_changed_time_is_read_again(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    source = write_drawn(tmp_path / "p.txt")
    open_run(source)

    status = source.stat()
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    open_run(source)

    assert drawn.calls == ["p.txt", "p.txt"]


def test_a_changed_size_is_read_again_even_with_the_old_time(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    source = write_drawn(tmp_path / "p.txt", kernels=3)
    status = source.stat()
    open_run(source)

    write_drawn(source, kernels=12)
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert kernels(open_run(source)) == [(0, 12)]


def test_changed_bytes_are_read_again_even_with_the_old_time_and_size(
    drawn: DrawnReader, cache: Path, tmp_path: Path
) -> None:
    source = write_drawn(tmp_path / "p.txt", kernels=3)
    status = source.stat()
    open_run(source)

    with source.open("r+b") as file:  # in place: the inode stays
        file.write(source.read_bytes().replace(b"kernels=3", b"kernels=8"))
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert kernels(open_run(source)) == [(0, 8)]


def test_a_replaced_file_is_read_again(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    source = write_drawn(tmp_path / "p.txt")
    open_run(source)

    copy = Path(shutil.copy2(source, tmp_path / "copy.txt"))
    copy.replace(source)
    open_run(source)

    assert drawn.calls == ["p.txt", "p.txt"]


def test_other_code_reads_again(
    drawn: DrawnReader, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_drawn(tmp_path / "p.txt")
    open_run(source)

    for module in ("fingerprint", "known_inputs"):
        monkeypatch.setattr(f"ascend_sn.store.{module}.code_state", lambda *folders: "upgraded")
    open_run(source)

    assert drawn.calls == ["p.txt", "p.txt"]


def test_a_rank_that_is_added_is_the_only_one_that_is_read(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    write_drawn(folder / "a.txt", rank=2, kernels=2)
    write_drawn(folder / "b.txt", rank=1, kernels=5)
    open_run(folder)

    write_drawn(folder / "c.txt", rank=0, kernels=1)
    run = open_run(folder)

    assert drawn.calls == ["a.txt", "b.txt", "c.txt"]
    assert run.sql("select profile_id, rank, count(*) from kernel group by all order by all").fetchall() == [
        (0, 0, 1),
        (1, 1, 5),
        (2, 2, 2),
    ]
    assert run.sql("select profile_id, source from profile order by 1").fetchall() == [
        (0, "c.txt"),
        (1, "b.txt"),
        (2, "a.txt"),
    ]


def test_a_rank_that_is_removed_is_gone_and_the_others_are_not_read(
    drawn: DrawnReader, cache: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    write_drawn(folder / "a.txt", rank=0, kernels=2)
    write_drawn(folder / "b.txt", rank=1, kernels=5)
    open_run(folder)

    (folder / "a.txt").unlink()

    assert kernels(open_run(folder)) == [(0, 5)]
    assert drawn.calls == ["a.txt", "b.txt"]


def test_a_profile_that_was_alone_loses_its_assumed_rank_in_company(
    drawn: DrawnReader, cache: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    write_drawn(folder / "a.txt", kernels=2)
    open_run(folder)

    write_drawn(folder / "b.txt", rank=7, kernels=5)
    run = open_run(folder)

    assert run.sql("select distinct rank from kernel order by rank").fetchall() == [(7,), (None,)]
    assert run.sql("select count(*) from damage where kind = 'no_rank'").fetchall() == [(0,)]


def test_the_earlier_run_still_stands_when_the_input_has_changed(
    drawn: DrawnReader, cache: Path, tmp_path: Path
) -> None:
    source = write_drawn(tmp_path / "p.txt", kernels=3)
    before = open_run(source)

    write_drawn(source, kernels=9)
    after = open_run(source)

    assert (kernels(before), kernels(after)) == ([(0, 3)], [(0, 9)])


class Interrupted(BaseException):
    """Stands for Ctrl-C: not an Exception."""


@pytest.mark.parametrize(
    ("module", "broken"), [(run_parts, "_write_durably"), (reading, "write_parquet"), (run_parts, "write_parquet")]
)
def test_an_interrupted_build_leaves_nothing_that_is_taken_for_whole(
    drawn: DrawnReader, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType, broken: str
) -> None:
    source = write_drawn(tmp_path / "p.txt", kernels=4)

    def interrupt(*arguments: object, **named: object) -> None:
        raise Interrupted

    with monkeypatch.context() as patch:
        patch.setattr(module, broken, interrupt)
        with pytest.raises(Interrupted):
            open_run(source)
    left = finished(cache)
    run = open_run(source)

    assert left == []
    assert kernels(run) == [(0, 4)]
    assert drawn.calls == ["p.txt", "p.txt"]


def test_a_build_that_was_killed_is_passed_over_and_cleared_a_day_later(
    drawn: DrawnReader, cache: Path, tmp_path: Path
) -> None:
    source = write_drawn(tmp_path / "p.txt", kernels=4)
    run = open_run(source)
    young, old = (cache / "runs" / f".building-{name}" for name in ("young", "old"))
    for left in (young, old):
        shutil.copytree(run.path, left)
    day = 24 * 3600
    os.utime(old, (old.stat().st_mtime - day - 60,) * 2)

    write_drawn(source, kernels=5)

    assert kernels(open_run(source)) == [(0, 5)]
    assert (young.exists(), old.exists()) == (True, False)


def test_a_folder_without_its_manifest_is_built_anew(drawn: DrawnReader, cache: Path, tmp_path: Path) -> None:
    source = write_drawn(tmp_path / "p.txt", kernels=4)
    run = open_run(source)
    (run.path / "manifest.json").unlink()

    assert kernels(open_run(source)) == [(0, 4)]
    assert drawn.calls == ["p.txt", "p.txt"]


def test_the_least_recently_used_run_goes_first(
    drawn: DrawnReader, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [write_drawn(tmp_path / name / "p.txt", kernels=4) for name in ("a", "b", "c")]
    a, b = (open_run(source) for source in sources[:2])
    for run, used in ((a, 2_000), (b, 1_000)):  # b was used before a
        os.utime(run.path, (used, used))
    size = sum(file.stat().st_size for file in a.path.rglob("*") if file.is_file())
    monkeypatch.setenv("ASCEND_SN_CACHE_MAX", str(2 * size + size // 2))

    c = open_run(sources[2])

    assert finished(cache) == sorted([a.path.name, c.path.name])


def test_using_a_run_counts_as_use(
    drawn: DrawnReader, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [write_drawn(tmp_path / name / "p.txt", kernels=4) for name in ("a", "b", "c")]
    a, b = (open_run(source) for source in sources[:2])
    for run, used in ((a, 1_000), (b, 2_000)):
        os.utime(run.path, (used, used))
    open_run(sources[0])
    size = sum(file.stat().st_size for file in a.path.rglob("*") if file.is_file())
    monkeypatch.setenv("ASCEND_SN_CACHE_MAX", str(2 * size + size // 2))

    c = open_run(sources[2])

    assert finished(cache) == sorted([a.path.name, c.path.name])


def test_the_run_in_use_is_kept_whatever_the_limit(
    drawn: DrawnReader, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_SN_CACHE_MAX", "1")
    open_run(write_drawn(tmp_path / "a" / "p.txt"))

    run = open_run(write_drawn(tmp_path / "b" / "p.txt", kernels=6))

    assert finished(cache) == [run.path.name]
    assert kernels(run) == [(0, 6)]


def test_a_cache_that_cannot_be_made_is_an_error_that_names_it(drawn: DrawnReader, tmp_path: Path) -> None:
    source = write_drawn(tmp_path / "p.txt")
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match=r"file.*the cache cannot be written"):
        open_run(source, cache_dir=tmp_path / "file" / "cache")


def test_the_cache_lies_where_the_environment_says(
    drawn: DrawnReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_drawn(tmp_path / "p.txt")
    monkeypatch.delenv("ASCEND_SN_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))

    by_xdg = open_run(source).path
    monkeypatch.setenv("ASCEND_SN_CACHE_DIR", str(tmp_path / "own"))
    by_name = open_run(source).path
    by_argument = open_run(source, cache_dir=tmp_path / "given").path

    assert by_xdg.is_relative_to(tmp_path / "xdg" / "ascend-sn")
    assert by_name.is_relative_to(tmp_path / "own")
    assert by_argument.is_relative_to(tmp_path / "given")
