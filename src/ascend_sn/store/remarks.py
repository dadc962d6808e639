"""What could not be kept for later: logged for those who ask, as it does not change the answer now."""

from __future__ import annotations

__all__ = ["remark"]


def remark(what: str, error: Exception) -> None:
    """Log what was not kept, and why, at level info."""
    import logging  # here: it costs several milliseconds, and most runs have nothing to say

    logging.getLogger("ascend_sn.store").info("%s: %s", what, error)
