"""One captured process between `formats` and `store`: its identity and its tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from ascend_sn.model.ledger import CoverageEntry, Ledger
from ascend_sn.model.rows import Rows, conform
from ascend_sn.model.tables import BY_NAME, PROFILE

__all__ = ["Capture", "DeviceKind", "ProfileHeader"]

DeviceKind = Literal["npu", "cuda", "rocm", "xpu", "cpu", "host"]


@dataclass(frozen=True)
class ProfileHeader:
    """Who was captured: host + process + start + rank + phase are the identity, never the rank alone."""

    format: str
    source: str
    device_kind: DeviceKind
    host: str | None = None
    pid: int | None = None
    start_ns: int | None = None
    rank: int | None = None
    phase: str | None = None
    device_id: int | None = None
    device_name: str | None = None
    world_size: int | None = None
    session_count: int = 1
    versions: dict[str, str] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)

    def rows(self) -> Rows:
        """Return the one row of the `profile` table."""
        return conform(
            PROFILE,
            1,
            rank=self.rank,
            host=self.host,
            pid=self.pid,
            start_ns=self.start_ns,
            session_count=self.session_count,
            phase=self.phase,
            device_kind=self.device_kind,
            device_id=self.device_id,
            device_name=self.device_name,
            format=self.format,
            source=self.source,
            world_size=self.world_size,
            versions=msgspec.json.encode(self.versions).decode(),
            config=msgspec.json.encode(self.config).decode(),
        )


class Capture(msgspec.Struct):
    """The tables of one profile while it is read and derived; a table that is absent has no rows."""

    header: ProfileHeader
    tables: dict[str, Rows] = msgspec.field(default_factory=dict)
    coverage: list[CoverageEntry] = msgspec.field(default_factory=list)
    ledger: Ledger = msgspec.field(default_factory=Ledger)

    def rows(self, name: str) -> Rows:
        """Return a table, empty when the reader gave none."""
        found = self.tables.get(name)
        return found if found is not None else conform(BY_NAME[name], 0)
