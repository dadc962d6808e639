"""The identity of an input: which files it has and whether they changed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from ascend_sn.formats.discover import Discovery
from ascend_sn.formats.reader import Source
from ascend_sn.model.manifest import RUN_VERSION, ManifestSource

__all__ = ["READER_VERSION", "run_key", "source_files", "source_key"]

READER_VERSION: Final = 1
"""Raised whenever a reader or `derive` gives other rows for the same file; old cache entries then lapse."""

_SAMPLE: Final = 64 * 1024


def source_files(source: Source) -> list[ManifestSource]:
    """Describe every file a source is made of: size, mtime in ns, inode, hash of the first and last 64 KiB."""
    return [_describe(path, source.relative(path)) for path in sorted(source.reader.members(source.path))]


def source_key(source: Source, files: list[ManifestSource]) -> str:
    """Return the cache key of one source."""
    digest = hashlib.sha256(f"{RUN_VERSION}/{READER_VERSION}/{source.reader.name}/{source.phase}".encode())
    for file in files:
        digest.update(f"\0{file.path}\0{file.size_bytes}\0{file.mtime_ns}\0{file.inode}\0{file.hash}".encode())
    return digest.hexdigest()[:32]


def run_key(found: Discovery, keys: list[str]) -> str:
    """Return the cache key of the whole input."""
    digest = hashlib.sha256(str(found.root.resolve()).encode())
    for source, key in zip(found.sources, keys, strict=True):
        digest.update(f"\0{source.name}\0{key}".encode())
    return digest.hexdigest()[:32]


def _describe(path: Path, name: str) -> ManifestSource:
    status = path.stat()
    digest = hashlib.sha256()
    with path.open("rb") as file:
        digest.update(file.read(_SAMPLE))
        if status.st_size > _SAMPLE:
            file.seek(max(_SAMPLE, status.st_size - _SAMPLE))
            digest.update(file.read(_SAMPLE))
    return ManifestSource(name, status.st_size, status.st_mtime_ns, status.st_ino, digest.hexdigest()[:16])
