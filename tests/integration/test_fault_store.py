"""Caches that are damaged, disks that fill while reading, and several readers of one input at once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from ascend_sn.errors import StoreError
from ascend_sn.store import open_run
from tests.small_disk import small_disk

SLICES: Final = 300
TRACE: Final = {
    "schemaVersion": 1,
    "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": f"aten::op{at % 7}", "pid": 1, "tid": 1, "ts": 10 * at, "dur": 5}
        for at in range(SLICES)
    ],
}
COUNTED: Final = [(f"aten::op{at}", len(range(at, SLICES, 7))) for at in range(7)]
QUERY: Final = "select name, count(*) from operator group by name order by name"


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "ascend_sn.cli.main", "--lang", "en", *map(str, words)]


def ascend_sn(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), capture_output=True, text=True, check=False)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "trace.json"
    path.parent.mkdir()
    path.write_text(json.dumps(TRACE))
    return path


@pytest.mark.parametrize(
    "how", ["cut", "overwritten", *(pytest.param(how, marks=pytest.mark.slow) for how in ("emptied", "a folder"))]
)
def test_each_damaged_file_of_the_cache_is_made_anew(trace: Path, tmp_path: Path, how: str) -> None:
    whole = tmp_path / "whole"
    assert ascend_sn("analyze", trace, "--cache-dir", whole).returncode == 0
    files = sorted(path.relative_to(whole) for path in whole.rglob("*") if path.is_file() and path.stat().st_size)
    assert {path.suffix for path in files} >= {".json", ".parquet"}
    for number, name in enumerate(files):
        cache = tmp_path / str(number)
        shutil.copytree(whole, cache)
        damage(cache / name, how)

        with open_run(trace, cache_dir=cache) as run:
            assert run.sql(QUERY).fetchall() == COUNTED, name


def test_a_changed_bit_in_a_table_of_the_cache_is_noticed_and_the_table_made_anew(trace: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    with open_run(trace, cache_dir=cache) as run:
        (part,) = run.files["operator"]
    whole = part.read_bytes()
    for at in range(8, len(whole) - 8, len(whole) // 12):
        change_bit(part, whole, at)

        with open_run(trace, cache_dir=cache) as run:
            assert run.sql(QUERY).fetchall() == COUNTED, at
        assert part.read_bytes()[at] == whole[at]


def test_a_changed_bit_in_a_run_folder_of_yours_is_named(trace: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with open_run(trace, cache_dir=tmp_path / "cache") as run:
        shutil.copytree(run.path, folder)
    (part,) = folder.glob("operator/*/part-0.parquet")
    change_bit(part, part.read_bytes(), part.stat().st_size // 2)
    changed = part.read_bytes()

    with pytest.raises(StoreError, match="its bytes are not those that were written") as caught:
        open_run(folder)

    assert caught.value.path == part
    assert part.read_bytes() == changed


def test_a_changed_bit_in_the_manifest_of_the_cache_is_noticed_and_the_run_made_anew(
    trace: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    with open_run(trace, cache_dir=cache) as run:
        manifest = run.path / "manifest.json"
    whole = manifest.read_bytes()
    for field in (b'"rank": ', b'"operator": ', b'"mtime_ns": ', b'"tool_version": "'):
        change_bit(manifest, whole, whole.index(field) + len(field))  # still JSON, of the same types

        with open_run(trace, cache_dir=cache) as run:
            assert run.sql(QUERY).fetchall() == COUNTED, field
            assert run.manifest.profiles[0].tables["operator"] == SLICES
        assert json.loads(manifest.read_bytes())["profiles"] == json.loads(whole)["profiles"]


@pytest.mark.parametrize("words", [("analyze",), ("query", "select 1")])
def test_a_changed_digit_in_the_manifest_of_a_run_folder_of_yours_is_named(
    trace: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    folder = tmp_path / "run"
    with open_run(trace, cache_dir=tmp_path / "cache") as run:
        shutil.copytree(run.path, folder)
    manifest = folder / "manifest.json"
    whole = manifest.read_bytes()
    manifest.write_bytes(whole.replace(b'"operator": 300', b'"operator": 301'))
    changed = manifest.read_bytes()
    assert changed != whole

    done = ascend_sn(words[0], folder, *words[1:], "--cache-dir", tmp_path / "cache")

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        f"ascend-sn: {manifest}: the manifest is damaged: its bytes are not those that were written; "
        "copy the run again or ingest its source again\n"
    )
    assert manifest.read_bytes() == changed


def change_bit(path: Path, content: bytes, at: int) -> None:
    path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])


def damage(path: Path, how: str) -> None:
    content = path.read_bytes()
    path.unlink()
    if how == "a folder":
        path.mkdir()
    else:
        path.write_bytes({"cut": content[: len(content) // 2], "emptied": b""}.get(how, b"\xa5" * len(content)))


def test_readers_of_one_input_at_once_all_get_it_and_leave_one_run(trace: Path, tmp_path: Path) -> None:
    words = command("query", trace, "select count(*) as n from operator", "--format", "csv")
    words += ["--cache-dir", str(tmp_path / "cache")]
    readers = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    said = [reader.communicate(timeout=300) for reader in readers]

    assert [(reader.returncode, out.split(), words) for reader, (out, words) in zip(readers, said, strict=True)] == [
        (0, ["n", str(SLICES)], "")
    ] * 4
    (run,) = (path for path in (tmp_path / "cache" / "runs").iterdir() if path.is_dir())
    assert not run.name.startswith(".")


def test_two_ingests_into_one_folder_leave_one_whole_run(trace: Path, tmp_path: Path) -> None:
    target = tmp_path / "run"
    words = command("ingest", trace, "--output", target, "--cache-dir", tmp_path / "cache")
    writers = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [writer.communicate(timeout=300)[1] for writer in writers]

    codes = sorted(writer.returncode for writer in writers)
    assert codes[0] == 0, said
    assert codes[1] in (0, 2, 3), said
    assert all("Traceback" not in words for words in said)
    with open_run(target) as run:
        assert run.sql(QUERY).fetchall() == COUNTED
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith((".", "run"))] == ["run"]


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system on which 4 KiB are left."""
    with small_disk(tmp_path / "full", 64 << 10) as place:
        (place / "other").write_bytes(b"x" * (60 << 10))
        yield place


@pytest.mark.parametrize(
    "words",
    [
        ("analyze", "{trace}", "--cache-dir", "{full}/cache"),
        ("ingest", "{trace}", "--output", "{full}/run"),
        ("report", "{trace}", "--output", "{full}/report.html"),
        ("export", "{trace}", "--output", "{full}/out.xlsx"),
        ("history", "record", "{trace}", "--history", "{full}/history.db"),
    ],
    ids=lambda words: words[0],
)
def test_a_full_disk_is_said_in_one_line_and_leaves_no_half_file(
    trace: Path, full_disk: Path, words: tuple[str, ...]
) -> None:
    told = ascend_sn(*(word.format(trace=trace, full=full_disk) for word in words))

    assert told.returncode == 3, told.stdout + told.stderr
    assert len(told.stderr.splitlines()) == 1, told.stderr
    assert "No space left" in told.stderr or "full" in told.stderr
    left = {path.name for path in full_disk.rglob("*") if path.is_file() and path.stat().st_size} - {"other"}
    assert not {name for name in left if name.endswith((".parquet", ".html", ".xlsx", "manifest.json"))}


def test_a_cache_that_is_closed_between_two_looks_still_answers_or_says_so(trace: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert ascend_sn("analyze", trace, "--cache-dir", cache).returncode == 0
    for path in [*cache.rglob("*"), cache]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        told = ascend_sn("query", trace, "select count(*) as n from operator", "--format", "csv", "--cache-dir", cache)
    finally:
        for folder, _, _ in os.walk(cache):
            os.chmod(folder, 0o755)

    assert (told.returncode, told.stdout.split()) == (0, ["n", str(SLICES)])
