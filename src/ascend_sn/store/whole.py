"""Whether a run folder still holds every file that its manifest promises."""

from __future__ import annotations

import errno
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ascend_sn.errors import StoreError
from ascend_sn.model.manifest import Manifest, ManifestProfile

__all__ = ["ASSUMED_PART", "SUMMED_BYTES", "WAY_OUT", "check_shown", "check_tables_path", "check_whole", "sum_of"]

ASSUMED_PART: Final = "part-assumed.parquet"
"""Damage that is noted beside what a reader noted."""

_MAGIC: Final = b"PAR1"
WAY_OUT: Final = "copy the run again or ingest its source again"
SUMMED_BYTES: Final = 256 << 20
"""Bytes of tables that are summed at an opening, some 2 GB a second; of a larger run the first tables."""


def check_tables_path(folder: Path) -> None:
    """Refuse a place for tables whose name cannot be given to the database.

    Raises:
        StoreError: The name is no UTF-8.
    """
    try:
        str(folder).encode()
    except UnicodeEncodeError as error:
        raise StoreError(
            folder, "tables cannot lie here: the name is no UTF-8; use a folder of another name"
        ) from error


def check_whole(folder: Path, manifest: Manifest) -> None:
    """Look at the presence and at both ends of every Parquet file (a copy may have been cut).

    Raises:
        StoreError: A file is missing or damaged; it is named.
    """
    for profile in manifest.profiles:
        for table in profile.tables:
            place = folder / table / f"profile={profile.profile_id}"
            parts = sorted(place.glob("part-*.parquet"))
            if not parts:
                raise StoreError(place, f"missing in the run folder; {WAY_OUT}")
            for part in parts:
                _check_part(part)


def sum_of(part: Path) -> int:
    """Return the CRC-32 of a file: DuckDB puts none into its tables, and most changed bits give other figures.

    Raises:
        OSError: It cannot be read, or is no file.
    """
    if not part.is_file():
        raise OSError(errno.EINVAL, "is no file", str(part))
    return zlib.crc32(part.read_bytes())


def check_shown(
    folder: Path,
    files: Mapping[str, Sequence[Path]],
    profiles: Sequence[ManifestProfile],
    *,
    most_bytes: int = SUMMED_BYTES,
) -> int:
    """Look whether the tables that are shown are those that were written.

    A copy may have been cut, and a disk, or who copied them, may have changed a bit.

    Args:
        folder: The run folder.
        files: The Parquet files of each table.
        profiles: The profiles whose tables are shown.
        most_bytes: Tables are summed until it is reached; of the others both ends are looked at.

    Returns:
        Bytes of the tables that were summed.

    Raises:
        StoreError: A file is missing, cut, or another one; it is named.
    """
    here = {(table, part.parent.name) for table, parts in files.items() for part in parts}
    for one in profiles:
        for table in one.tables:
            if table in files and (table, f"profile={one.profile_id}") not in here:
                place = folder / table / f"profile={one.profile_id}"
                raise StoreError(place, f"missing in the run folder; {WAY_OUT}")
    sums = {(table, f"profile={one.profile_id}"): value for one in profiles for table, value in one.sums.items()}
    summed_bytes = 0
    for table, parts in files.items():
        for part in parts:
            _check_part(part)
            expected = sums.get((table, part.parent.name))
            if expected is None or part.name == ASSUMED_PART or summed_bytes >= most_bytes:
                continue
            try:
                summed_bytes += part.stat().st_size
                found = sum_of(part)
            except OSError as error:
                raise StoreError(part, f"cannot be read: {error.strerror}") from error
            if found != expected:
                raise StoreError(part, f"its bytes are not those that were written; {WAY_OUT}")
    return summed_bytes


def _check_file(part: Path) -> None:
    if not part.is_file():  # a pipe would be waited for
        raise StoreError(part, f"is no file; {WAY_OUT}")


def _check_part(part: Path) -> None:
    _check_file(part)
    try:
        with part.open("rb") as file:
            start = file.read(len(_MAGIC))
            file.seek(-min(len(_MAGIC), part.stat().st_size), 2)
            end = file.read(len(_MAGIC))
    except OSError as error:
        raise StoreError(part, f"cannot be read: {error.strerror}") from error
    if start != _MAGIC or end != _MAGIC:
        raise StoreError(part, f"cut or damaged; {WAY_OUT}")
