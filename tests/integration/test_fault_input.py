"""Bombs, depth, code in a pickle, and folders of very many files: bounded memory, and words in the end."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import resource
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any, Final

import pytest

MEMORY: Final = 1536 << 20
"""Address space that a reader of a bomb may take: the interpreter, DuckDB and their threads alone map much of it."""

FILES: Final = 100_000
GOLDEN: Final = Path(__file__).resolve().parents[1] / "golden"
GZIP_HEADER: Final = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"


def ascend_sn(*words: object, memory: int | None = None) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        if memory is not None:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    command = [sys.executable, "-m", "ascend_sn.cli.main", "--lang", "en", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit, timeout=300)


def bomb(head: bytes, part: bytes, count: int) -> bytes:
    """A gzip file of one member: a head and a part over and over, which is compressed once."""
    compressed = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS)
    begin = compressed.compress(head) + compressed.flush(zlib.Z_FULL_FLUSH)
    again = compressed.compress(part) + compressed.flush(zlib.Z_FULL_FLUSH)
    check = zlib.crc32(head)
    for _ in range(count):
        check = zlib.crc32(part, check)
    size = (len(head) + count * len(part)) % (1 << 32)
    return GZIP_HEADER + begin + count * again + compressed.flush() + struct.pack("<II", check, size)


def test_a_bomb_holds_what_it_says() -> None:
    assert gzip.decompress(bomb(b"head", b"part" * 1000, 3)) == b"head" + b"part" * 3000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "filling"),
    [
        (b'{"schemaVersion":1,"traceEvents":[', b" "),
        (b'{"schemaVersion":1,"x":"', b"a"),
        (b"", b"\0"),
        (b'{"traceEvents":', b"["),
        (b'{"segments":', b"["),
    ],
    ids=["blanks", "one text", "zeros", "depth", "depth of another"],
)
def test_a_compressed_bomb_ends_in_one_line_with_bounded_memory(tmp_path: Path, head: bytes, filling: bytes) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(bomb(head, filling * (1 << 20), 2 << 10))  # 2 GiB of content in some MB
    assert path.stat().st_size < 40 << 20

    told = ascend_sn("analyze", path, "--cache-dir", tmp_path / "cache", memory=MEMORY)

    assert told.returncode == 3, told.stdout + told.stderr[-2000:]
    assert len(told.stderr.splitlines()) == 1


def test_code_in_the_folder_that_one_stands_in_is_not_run(tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    for rank in range(2):
        shutil.copytree(GOLDEN / "train_trace" / "v1", folder / f"rank{rank}")
    ran = tmp_path / "ran"
    for module in ("duckdb", "msgspec", "multiprocessing", "numpy", "random", "signal"):
        (folder / f"{module}.py").write_text(f"open({str(ran)!r}, 'a').write({module!r})\n")
    environment = {**os.environ, "ASCEND_SN_CACHE_DIR": str(tmp_path / "cache")}
    main = [sys.executable, "-P", "-m", "ascend_sn.cli.main", "--lang", "en"]  # as the installed command starts
    page = "import ascend_sn, sys; ascend_sn.open(sys.argv[1]).view(inline=True)"

    for command in (
        [*main, "ingest", ".", "--output", str(tmp_path / "run"), "--workers", "2"],
        [*main, "query", ".", "select count(*) from span"],
        [sys.executable, "-P", "-c", page, "."],
    ):
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert not ran.exists(), (command, ran.read_text())


class _Runs:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return (exec, (f"open({str(self.target)!r}, 'w').close()",))


@pytest.mark.parametrize("name", ["snapshot.pickle", "snapshot.pkl", "renamed.bin"])
def test_code_in_a_pickle_is_not_run(tmp_path: Path, name: str) -> None:
    target = tmp_path / "was run"
    path = tmp_path / name
    path.write_bytes(pickle.dumps({"segments": [_Runs(target)], "device_traces": []}))

    told = ascend_sn("analyze", path, "--cache-dir", tmp_path / "cache")

    assert (told.returncode, len(told.stderr.splitlines())) == (3, 1)
    assert not target.exists()


@pytest.mark.slow
def test_a_hundred_thousand_other_files_are_refused_with_a_way_out(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number}.txt").write_bytes(b"x")

    told = ascend_sn("analyze", folder, "--cache-dir", tmp_path / "cache", memory=MEMORY)

    assert told.returncode == 3
    assert told.stderr == (
        f"ascend-sn: {folder}: more than 20000 files that belong to no profile; open a folder below it\n"
    )


@pytest.mark.slow
def test_a_capture_among_a_hundred_thousand_files_is_read_and_the_end_of_the_search_told(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 5}
    (folder / "0.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": [event]}))
    for number in range(1, FILES):
        (folder / f"{number}.txt").write_bytes(b"x")

    told = ascend_sn("analyze", folder, "--cache-dir", tmp_path / "cache", memory=MEMORY)

    assert told.returncode == 0
    assert "aten::mm" in told.stdout
    assert "the search ended there" in told.stdout
