"""What the recorder says: troubles that must not reach the training, once each and counted always."""

from __future__ import annotations

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
        if self._is_first(place):
            _logger().exception("ascend-sn could not record (%s); the program goes on; said once", place)

    def warning(self, place: str, text: str) -> None:
        """Report a misuse or a loss, such as a stop without a start."""
        if self._is_first(place):
            _logger().warning("ascend-sn: %s; said once", text)

    def note(self, text: str) -> None:
        """Say what is no trouble, to those who listen to it."""
        _logger().info("ascend-sn: %s", text)

    def _is_first(self, place: str) -> bool:
        count = self.counts.get(place, 0)
        self.counts[place] = count + 1
        return count == 0


def _logger() -> Logger:
    import logging  # here: it costs several milliseconds, and most recordings never say anything

    return logging.getLogger("ascend_sn.collect")
