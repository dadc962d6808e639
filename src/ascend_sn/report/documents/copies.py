"""Memory copies by direction."""

from __future__ import annotations

import msgspec

from ascend_sn.report.documents.section import Section

__all__ = [
    "Copies",
    "Copy",
]


class Copy(msgspec.Struct, kw_only=True):
    """Copies of one direction and kind of host memory, summed over the profiles.

    `direction` is h2d, d2h, d2d or h2h; `host_memory` pageable or pinned; each null where not recorded.
    """

    direction: str | None
    host_memory: str | None
    calls: int
    total_ns: int
    mean_ns: int
    exposed_ns: int
    overlapped_ns: int
    exposed_share_ratio: float | None
    size_bytes: int | None
    bandwidth_bytes_per_s: float | None


class Copies(Section, kw_only=True):
    """Memory copies by direction; `exposed_ns` is the time with a copy and nothing else, of all profiles' windows."""

    window_ns: int | None = None
    exposed_ns: int | None = None
    rows: list[Copy] = []
