"""`manifest.json` of a run folder: version, sources, profiles and how the run came to be."""

from __future__ import annotations

from typing import Any, Final

import msgspec

__all__ = [
    "MANIFEST_NAME",
    "RUN_FORMAT",
    "RUN_VERSION",
    "Manifest",
    "ManifestLost",
    "ManifestProfile",
    "ManifestSource",
]

MANIFEST_NAME: Final = "manifest.json"
RUN_FORMAT: Final = "ascend-sn-run"
RUN_VERSION: Final = 1
"""Integer version of the run folder. Changing it means one upgrader, one fixture, one line in the docs."""


class ManifestSource(msgspec.Struct, frozen=True, omit_defaults=True):
    """One file that was read: path relative to the input, size, mtime in ns, inode, hash of head and tail."""

    path: str
    size_bytes: int
    mtime_ns: int
    inode: int
    hash: str


class ManifestProfile(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One profile: its identity, the key of the files it was made from, its row counts by table.

    `job` names the job it belongs to where the input holds several, see `store.jobs`. `rank_assumed` is true
    where the capture names no rank, is alone in its job and has no ranked one beside it, so that it is taken as rank 0;
    its files have no rank. `sums` holds the CRC-32 of each table's file, as far as it was written by this version.
    """

    profile_id: int
    rank: int | None
    host: str | None
    pid: int | None
    start_ns: int | None
    source: str
    format: str
    key: str
    tables: dict[str, int]
    rank_assumed: bool = False
    device_kind: str = ""
    world_size: int | None = None
    device_id: int | None = None
    job: str = ""
    sums: dict[str, int] = {}


class ManifestLost(msgspec.Struct, frozen=True):
    """A source that was not read, though another attempt may: its worker died or could not write."""

    source: str
    reason: str


class Manifest(msgspec.Struct, frozen=True):
    """The whole manifest; `tables` gives the row count of every table, `lost` the sources that are still to be read.

    `sources` is the JSON text of a list of `ManifestSource`, most of the manifest of many ranks; an opening does not
    need it.
    """

    format: str
    version: int
    tool_version: str
    reader_version: int
    input: str
    input_bytes: int
    sources: msgspec.Raw
    profiles: list[ManifestProfile]
    tables: dict[str, int]
    overhead: dict[str, Any] = {}
    lost: list[ManifestLost] = []

    @property
    def files(self) -> list[ManifestSource]:
        """The files that were read.

        Raises:
            msgspec.DecodeError: The text is no list of them.
        """
        return msgspec.json.decode(self.sources, type=list[ManifestSource])
