"""What the recorder says: troubles that must not reach the training, once each and counted always."""

from __future__ import annotations

import os
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from logging import Logger

__all__ = ["FaultLog"]


class FaultLog:
    """Says every kind of trouble once through `logging`; the loggers are set up by the user, not here."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def exception(self, place: str) -> None:
        """Report the exception being handled; `place` names what was not recorded."""
        if self._is_first(place) and (logger := _logger()) is not None:
            logger.exception("ascend-sn could not record (%s); the program goes on; said once", place)

    def warning(self, place: str, text: str) -> None:
        """Report a misuse or a loss, such as a stop without a start."""
        if self._is_first(place) and (logger := _logger()) is not None:
            logger.warning("ascend-sn: %s; said once", text)

    def note(self, text: str) -> None:
        """Say what is no trouble, to those who listen to it."""
        if (logger := _logger()) is not None:
            logger.info("ascend-sn: %s", text)

    def _is_first(self, place: str) -> bool:
        count = self.counts.get(place, 0)
        self.counts[place] = count + 1
        return count == 0


def _logger() -> Logger | None:
    """Return where it is said; None where that cannot be loaded, as a process without a free descriptor cannot."""
    try:
        import logging  # here: it costs several milliseconds, and most recordings never say anything
    except (OSError, ImportError, MemoryError) as error:
        text = f"ascend-sn could not record, nor load what would say why ({error}); the program goes on\n"
        with suppress(OSError):
            os.write(2, text.encode(errors="replace"))
        return None
    return logging.getLogger("ascend_sn.collect")
