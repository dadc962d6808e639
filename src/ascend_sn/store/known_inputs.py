"""Whether an input that was opened before is unchanged, found out without loading a single reader.

For every opened path the cache keeps what was looked at: the folders with their mtime (an entry that comes or
goes changes it) and the files with size, mtime, inode and the hash of both ends. If all of that is the same,
and so is the code, the run is the same.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from ascend_sn.model.manifest import MANIFEST_NAME, ManifestSource
from ascend_sn.store.environment import cache_folder
from ascend_sn.store.fingerprint import code_state, describe
from ascend_sn.store.input import Input
from ascend_sn.store.sealed import BrokenSealError, decoded, write_sealed

__all__ = ["recall", "remember"]

SETTLED_AFTER_NS: Final = 2_000_000_000
"""A folder that changed less than this before it was looked at may change again without a new mtime."""


class _Known(msgspec.Struct, frozen=True):
    """What was looked at when `key` was found; names are relative to the input's base.

    `searched` are the folders and passed-over files with size, mtime and inode; `files` are those that were read.
    """

    code: str
    key: str
    searched: dict[str, tuple[int, int, int]]
    files: list[ManifestSource]


def recall(named: Input, cache_dir: Path | None) -> Path | None:
    """Return the run folder of an input that has not changed since it was last opened, else None."""
    cache = cache_dir or cache_folder()
    try:
        known = decoded(_index(cache, named), _Known)
        folder = cache / "runs" / known.key
        if known.code != code_state() or not (folder / MANIFEST_NAME).is_file():
            return None
        base = named.base
        if any(_state(base / name) != state for name, state in known.searched.items()):
            return None
        if any(describe(base / file.path, file.path) != file for file in known.files):
            return None
        os.utime(folder)
    except (OSError, BrokenSealError):
        return None
    return folder


def remember(named: Input, cache_dir: Path | None, key: str, searched: Iterable[Path], read: Iterable[Path]) -> None:
    """Keep what an input looks like now: what was `searched` and what was `read`."""
    base = named.base
    files = [describe(path, os.path.relpath(path, base)) for path in read]
    within = [os.path.relpath(place, base) for place in named.places if place.is_dir()]
    folders = {folder for file in files for folder in _folders(file.path, within)}
    looked_at = folders | {os.path.relpath(path, base) for path in searched}
    states = {name: _state(base / name) for name in looked_at}
    newest = max((mtime for _, mtime, _ in states.values()), default=0)
    if newest > time.time_ns() - SETTLED_AFTER_NS:
        return
    try:
        data = msgspec.json.encode(_Known(code_state(), key, states, files))
    except UnicodeEncodeError:
        return  # a name that is no UTF-8: such an input is searched every time
    index = _index(cache_dir or cache_folder(), named)
    index.parent.mkdir(parents=True, exist_ok=True)
    write_sealed(index, data)


def _state(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ino


def _folders(name: str, within: list[str]) -> Iterator[str]:
    """The folders that a file lies in, as far up as one of `within`: those above may change without any meaning."""
    for folder in Path(name).parents:
        if any(Path(top) == folder or Path(top) in folder.parents for top in within):
            yield str(folder)


def _index(cache: Path, named: Input) -> Path:
    places = "\0".join(sorted(os.path.realpath(path) for path in named.paths))
    name = hashlib.sha256(os.fsencode(places)).hexdigest()[:32]
    return cache / "inputs" / f"{name}.json"
