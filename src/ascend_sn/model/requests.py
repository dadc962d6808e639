"""Which user ranges are requests of a server, and which are parts of one."""

from __future__ import annotations

from typing import Final

__all__ = ["PHASE_FLOW", "REQUEST_DOMAIN", "REQUEST_PHASE_DOMAIN"]

REQUEST_DOMAIN: Final = "request"
"""Domain of the ranges that are one request each, from its arrival to its end."""

REQUEST_PHASE_DOMAIN: Final = "request phase"
"""Domain of the ranges that are a recorded part of a request: waiting in a queue, prefill, decode."""

PHASE_FLOW: Final = "phase"
"""Kind of the arrow from a request to a part of it."""
