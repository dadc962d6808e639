"""Run folders that the shards of a launcher wrote beside each other, opened as the one run that they are parts of."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Final

import msgspec

from ascend_sn.errors import InputError
from ascend_sn.model.manifest import MANIFEST_NAME
from ascend_sn.store.upgrade import is_run_folder

__all__ = ["NOTHING", "Shards"]

NOTHING: Final = "nothing-to-read"
"""File that says that a shard had nothing to read: the launcher started more processes than there are captures."""

_NAME: Final = re.compile(r"shard-([0-9]{1,6})-of-([0-9]{1,6})")


class Shards(msgspec.Struct, frozen=True):
    """The shards below a folder: those that are there, and the names of those that are not."""

    root: Path
    present: list[Path]
    absent: list[str]

    @classmethod
    def below(cls, folder: Path) -> Shards | None:
        """Find the shards in a folder; None where it holds none.

        Raises:
            InputError: It holds shards of several splits, or one that no split has.
        """
        if not folder.is_dir():
            return None
        named = {path: found for path in sorted(folder.iterdir()) if (found := _NAME.fullmatch(path.name)) is not None}
        present = [path for path in named if path.is_dir() and is_run_folder(path)]
        if not present:
            return None
        counts = sorted({int(named[path][2]) for path in present})
        if len(counts) > 1:
            splits = " and ".join(f"of {count}" for count in counts)
            raise InputError(folder, f"holds shards {splits}; remove those of the earlier split")
        count = counts[0]
        beyond = next((path for path in present if int(named[path][1]) >= count), None)
        if beyond is not None:
            raise InputError(folder, f"holds {beyond.name}, which is none of {count} shards; remove it")
        here = {
            int(found[1])
            for path, found in named.items()
            if int(found[2]) == count and (path in present or (path / NOTHING).is_file())
        }
        return cls(folder, present, [f"shard {number} of {count}" for number in range(count) if number not in here])

    @property
    def key(self) -> str:
        """Key of the run that they are, for the cache: `<place>-<state>`."""
        place = hashlib.sha256(os.fsencode(os.path.realpath(self.root))).hexdigest()
        state = hashlib.sha256("\0".join(self.absent).encode())
        for path in self.present:
            status = (path / MANIFEST_NAME).stat()
            described = f"{path.name}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ino}"
            state.update(described.encode("utf-8", "surrogateescape"))
        return f"{place[:16]}-{state.hexdigest()[:24]}"
