"""The identity of an input: which files it has and whether they changed."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ascend_sn.model.manifest import RUN_VERSION, ManifestSource

if TYPE_CHECKING:
    from ascend_sn.formats.discover import Discovery
    from ascend_sn.formats.reader import Source
    from ascend_sn.store.input import Input

__all__ = ["READER_VERSION", "code_state", "describe", "run_key", "source_files", "source_key"]

READER_VERSION: Final = 1
"""Raised whenever a reader or `derive` gives other rows for the same file. It is written into the manifest;
cache entries lapse by themselves when the code that makes rows changes, see `code_state`."""

_PACKAGE: Final = Path(__file__).parent.parent
_MAKES_ROWS: Final = ("_native", "derive", "formats", "model")
_SAMPLE: Final = 64 * 1024


def source_files(source: Source) -> list[ManifestSource]:
    """Describe every file a source is made of: size, mtime in ns, inode, hash of the first and last 64 KiB."""
    return [describe(path, source.relative(path)) for path in sorted(source.reader.members(source.path))]


def source_key(source: Source, files: list[ManifestSource]) -> str:
    """Return the cache key of one source."""
    made_by = f"{RUN_VERSION}/{READER_VERSION}/{code_state(*_MAKES_ROWS)}/{source.reader.name}/{source.phase}"
    digest = hashlib.sha256(made_by.encode("utf-8", "surrogateescape"))
    for file in files:
        described = f"\0{file.path}\0{file.size_bytes}\0{file.mtime_ns}\0{file.inode}\0{file.hash}"
        digest.update(described.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:32]


def run_key(found: Discovery, keys: list[str], named: Input) -> str:
    """Return the cache key of the whole input: `<input>-<state>`, so that older states of an input are found.

    Some paths of a folder are a state of the folder: what was read of it before is taken over.
    """
    place = hashlib.sha256(os.fsencode(os.path.realpath(found.root))).hexdigest()
    state = hashlib.sha256()
    if named.only is None:
        state.update(f"\0{named.name}\0".encode("utf-8", "surrogateescape"))
    for source, key in zip(found.sources, keys, strict=True):
        state.update(f"\0{source.name}\0{key}".encode("utf-8", "surrogateescape"))
    for name in found.foreign:
        state.update(f"\0{name}".encode("utf-8", "surrogateescape"))
    return f"{place[:16]}-{state.hexdigest()[:24]}"


@cache
def code_state(*folders: str) -> str:
    """Return a text that changes whenever a file of the package's `folders` (all when none is named) changes.

    What is kept in the cache was made by code; an upgrade, or an edit of the checkout, makes it again.
    """
    digest = hashlib.sha256()
    for name, size_bytes, mtime_ns in _code_files():
        if not folders or name.partition(os.sep)[0] in folders:
            digest.update(f"{name}\0{size_bytes}\0{mtime_ns}\0".encode())
    return digest.hexdigest()[:16]


@cache
def _code_files() -> list[tuple[str, int, int]]:
    """Name below the package, size and mtime in ns of every file that decides what is made."""
    found = []
    pending = [""]
    while pending:
        folder = pending.pop()
        with os.scandir(_PACKAGE / folder) as entries:
            for entry in entries:
                name = os.path.join(folder, entry.name)
                if entry.is_dir() and entry.name != "__pycache__":
                    pending.append(name)
                elif entry.name.endswith((".py", ".so", ".toml", ".mo", ".j2")):
                    status = entry.stat()
                    found.append((name, status.st_size, status.st_mtime_ns))
    return sorted(found)


def describe(path: Path, name: str) -> ManifestSource:
    """Describe a file: size, mtime in ns, inode, hash of the first and last 64 KiB."""
    status = path.stat()
    digest = hashlib.sha256()
    with path.open("rb") as file:
        digest.update(file.read(_SAMPLE))
        if status.st_size > _SAMPLE:
            file.seek(max(_SAMPLE, status.st_size - _SAMPLE))
            digest.update(file.read(_SAMPLE))
    return ManifestSource(name, status.st_size, status.st_mtime_ns, status.st_ino, digest.hexdigest()[:16])
