"""What a reader is, and what it is given.

A reader claims a file or a folder by its content (users rename things), lists the files it would read (they
make the cache key), and turns them into captures: one per captured process.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import msgspec

from ascend_sn.model.capture import Capture

__all__ = ["HEAD_BYTES", "Candidate", "Reader", "Source", "shown_name"]

HEAD_BYTES = 64 * 1024


def shown_name(path: Path) -> str:
    """Return a path as text; bytes that are no UTF-8 get a replacement mark, so that every table can hold it."""
    return os.fsencode(path.as_posix()).decode("utf-8", "replace")


class Candidate(msgspec.Struct, frozen=True, dict=True):
    """A path under inspection; content is looked at once and kept."""

    path: Path

    @cached_property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.path.is_dir()

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB of a file, decompressed when it is gzip; empty for a folder, a pipe, or another thing."""
        from ascend_sn.formats.heads import read_head

        # A pipe that nobody writes into would be waited for.
        return read_head(self.path, HEAD_BYTES) if self.path.is_file() else b""

    @cached_property
    def names(self) -> frozenset[str]:
        """Names directly inside a folder; empty for a file."""
        return frozenset(child.name for child in self.path.iterdir()) if self.is_folder else frozenset()


class Source(msgspec.Struct, frozen=True):
    """Something a reader claimed: `path`, the opened root it lies under, and the phase folder if any."""

    reader: Reader
    path: Path
    root: Path
    phase: str | None = None

    @property
    def name(self) -> str:
        """Path relative to the root, or the own name when it is the root."""
        return self.relative(self.path)

    def relative(self, path: Path) -> str:
        """Return a path as it is named in the ledger: relative to the opened root."""
        return shown_name(Path(path.name) if path == self.root else path.relative_to(self.root))


class Reader(msgspec.Struct, frozen=True):
    """A format: how to recognise it, which files belong to it, how to read it.

    Attributes:
        name: Stable name, shown as the profile's `format`.
        claims: Whether the candidate is of this format; looks at content, not only at names.
        members: Files that `read` opens, for the cache key; sorted.
        read: One capture per captured process. Raises `FormatError` only when nothing usable is left,
            `NotParsedError` for raw data; everything else goes to the captures' ledgers.
        sums_up: Whether what it reads was made out of captures: it is left alone beside the captures themselves.
    """

    name: str
    claims: Callable[[Candidate], bool]
    members: Callable[[Path], list[Path]]
    read: Callable[[Source], list[Capture]]
    sums_up: bool = False
