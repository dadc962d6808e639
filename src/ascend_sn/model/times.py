"""Which times can be what they claim to be: files may hold anything, and what is left must be possible to add up."""

from __future__ import annotations

from typing import Final

from ascend_sn.model.rows import Bool, Int64

__all__ = ["LATEST_NS", "LONGEST_NS", "possible_times"]

LATEST_NS: Final = 1 << 62
"""No slice begins later: nanoseconds since 1970, in the year 2116."""

LONGEST_NS: Final = 366 * 86_400 * 1_000_000_000
"""No slice lasts longer than a year."""


def possible_times(ts_ns: Int64, dur_ns: Int64) -> Bool:
    """Return where a slice begins neither before 1970 nor after `LATEST_NS` and lasts from 0 to `LONGEST_NS`."""
    possible: Bool = (ts_ns >= 0) & (ts_ns < LATEST_NS) & (dur_ns >= 0) & (dur_ns <= LONGEST_NS)
    return possible
