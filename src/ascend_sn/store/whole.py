"""Whether a run folder that a user hands in still holds every file that its manifest promises."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ascend_sn.errors import StoreError
from ascend_sn.model.manifest import Manifest

__all__ = ["check_tables_path", "check_whole"]

_MAGIC: Final = b"PAR1"


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
                raise StoreError(place, "missing in the run folder; copy the run again or ingest its source again")
            for part in parts:
                _check_part(part)


def _check_part(part: Path) -> None:
    try:
        with part.open("rb") as file:
            start = file.read(len(_MAGIC))
            file.seek(-min(len(_MAGIC), part.stat().st_size), 2)
            end = file.read(len(_MAGIC))
    except OSError as error:
        raise StoreError(part, f"cannot be read: {error.strerror}") from error
    if start != _MAGIC or end != _MAGIC:
        raise StoreError(part, "cut or damaged; copy the run again or ingest its source again")
