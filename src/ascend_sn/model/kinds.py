"""Kinds of kernels and of captures, and operations of collectives, that count as one thing.

Python writes such a tuple as SQL writes a list: `where kind in {COMPUTE_KINDS}`.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "BUSY_KINDS",
    "COMPUTE_KINDS",
    "HOST_KINDS",
    "OWN_WORK_KINDS",
    "POINT_TO_POINT",
    "UNKNOWN_OPERATION",
    "UNMATCHED",
]

COMPUTE_KINDS: Final = ("compute", "fused")
"""Kernels that compute; fused ones communicate too, and count here as in the exporter's step trace."""

BUSY_KINDS: Final = (*COMPUTE_KINDS, "communication", "copy")
"""Kernels that keep a device busy; waits and records do not."""

OWN_WORK_KINDS: Final = (*COMPUTE_KINDS, "copy")
"""Kernels whose time is the work of their own device; collectives wait for others."""

HOST_KINDS: Final = ("cpu", "host")
"""Kinds of captures in which no device ran: what the host did stands for kernels."""

POINT_TO_POINT: Final = ("send", "receive", "sendrecv", "batchsendrecv")
"""Operations between two ranks; their numbers do not tell which of them meet."""

UNKNOWN_OPERATION: Final = "unknown"
"""Operation of a call of a communication library of which nothing recorded says what it did."""

UNMATCHED: Final = (*POINT_TO_POINT, UNKNOWN_OPERATION)
"""Operations whose calls cannot be matched across ranks by number: an unknown one may be a send or a receive."""
