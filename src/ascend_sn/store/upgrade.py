"""Bring older run folders to the version of today: one function per version, none of them ever edited."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from ascend_sn.errors import RunVersionError, StoreError
from ascend_sn.model.manifest import MANIFEST_NAME, RUN_FORMAT, RUN_VERSION, Manifest
from ascend_sn.store.sealed import BrokenSealError, check_object
from ascend_sn.store.whole import WAY_OUT

__all__ = ["UPGRADERS", "is_run_folder", "load_manifest"]

UPGRADERS: dict[int, Callable[[Path, dict[str, Any]], dict[str, Any]]] = {}
"""From version to a function that takes folder and manifest of that version and returns the next one's.

An upgrader may add columns in views or rewrite the manifest in memory; it never writes into a folder that
belongs to the user.
"""


class _Versioned(msgspec.Struct):
    version: Any = None


def is_run_folder(path: Path) -> bool:
    """Whether `path` holds a manifest of ours; false for a folder that cannot be looked into."""
    manifest = path / MANIFEST_NAME
    if not os.path.isfile(manifest):
        return False
    with manifest.open("rb") as file:
        return RUN_FORMAT.encode() in file.read(4096)


def load_manifest(folder: Path) -> Manifest:
    """Read the manifest of a run folder, upgraded to this version.

    Raises:
        RunVersionError: The folder was written by a newer version.
        StoreError: The manifest is damaged.
    """
    path = folder / MANIFEST_NAME
    try:
        data = path.read_bytes()
        check_object(data)
    except OSError as error:
        raise StoreError(path, f"the manifest cannot be read: {error.strerror}") from error
    except BrokenSealError as error:
        raise StoreError(path, f"the manifest is damaged: {error}; {WAY_OUT}") from error
    # That of many ranks has megabytes: one of today is read once.
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        manifest = msgspec.json.decode(data, type=Manifest)
        if manifest.version == RUN_VERSION:
            return manifest
    try:
        version = msgspec.json.decode(data, type=_Versioned).version
    except RecursionError as error:
        raise StoreError(path, "the manifest is damaged: nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreError(path, f"the manifest is damaged: {error}") from error
    if not isinstance(version, int) or isinstance(version, bool):
        raise StoreError(path, "the manifest is damaged: it states no version of the run folder")
    if version < 1:
        raise StoreError(path, f"the manifest is damaged: there is no version {version}")
    if version > RUN_VERSION:
        raise RunVersionError(folder, version, RUN_VERSION)
    try:
        if version == RUN_VERSION:
            return msgspec.json.decode(data, type=Manifest)
        raw = msgspec.json.decode(data, type=dict[str, Any])
        while version < RUN_VERSION:
            raw = UPGRADERS[version](folder, raw)
            version = int(raw["version"])
        return msgspec.json.decode(msgspec.json.encode(raw), type=Manifest)
    except RecursionError as error:
        raise StoreError(path, "the manifest is damaged: nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreError(path, f"the manifest is damaged: {error}") from error
