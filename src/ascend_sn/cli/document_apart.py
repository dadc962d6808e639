"""Make the document of a large job in a process of its own, which keeps it beside the run.

A server that made it itself would hold what that takes, a gigabyte for a thousand ranks, and answer everything else
late.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import msgspec

from ascend_sn.cli.opening import document_at, page_selection
from ascend_sn.report.words.language import Code, Language
from ascend_sn.store import Location
from ascend_sn.store.ingest import Progress
from ascend_sn.store.input import Input

__all__ = ["make_apart"]


class _Wanted(msgspec.Struct, frozen=True):
    """The document that is wanted; paths as text."""

    folder: str
    paths: list[str]
    code: Code
    job: str | None
    cache_dir: str | None


def make_apart(location: Location, code: Code, job: str | None, *, cache_dir: Path | None, progress: Progress) -> None:
    """Make the document of a cached run that the page shows, and keep it there.

    Where that fails, nothing is kept: who needs the document then makes it, and meets the reason. The process ends with
    this one.
    """
    paths = [str(path) for path in location.input.paths]
    wanted = _Wanted(str(location.folder), paths, code, job, None if cache_dir is None else str(cache_dir))
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "ascend_sn.cli.document_apart"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(msgspec.json.encode(wanted) + b"\n")
            child.stdin.flush()
        except BrokenPipeError:
            return
        for line in child.stdout:
            progress(*msgspec.json.decode(line, type=tuple[int, int, str]))


def main() -> None:
    """Make what the first line of the input asks for; each line that is printed tells how far it is."""
    wanted = msgspec.json.decode(sys.stdin.buffer.readline(), type=_Wanted)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    location = Location(Path(wanted.folder), Input.of(wanted.paths), is_cached=True)

    def tell(done: int, total: int, part: str) -> None:
        sys.stdout.buffer.write(msgspec.json.encode((done, total, part)) + b"\n")
        sys.stdout.buffer.flush()

    cache_dir = None if wanted.cache_dir is None else Path(wanted.cache_dir)
    document_at(
        location, Language.load(wanted.code), cache_dir=cache_dir, selection=page_selection(), job=wanted.job,
        progress=tell,
    )  # fmt: skip


def _end_with_parent() -> None:
    """Wait for the end of the input, which nobody but the parent holds open."""
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    main()
