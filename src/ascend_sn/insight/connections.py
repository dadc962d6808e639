"""Connections of the page: who keeps the server waiting makes room for others, and is hung up on after a minute."""

from __future__ import annotations

import asyncio
from typing import Final, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["CONNECTIONS", "PATIENCE_S", "BoundedConnection"]

CONNECTIONS: Final = 256
"""Connections at a time; a tab keeps up to six."""

PATIENCE_S: Final = 60.0
"""Seconds in which a request is sent, or a part of an answer taken."""

_LEAST_TAKEN: Final = 64 * 1024
"""Bytes of an answer that are taken in that time, unless it ends: a thousandth of what a slow line carries."""


class BoundedConnection(H11Protocol):
    """A connection that waits for its client no longer than `PATIENCE_S`, or until its place is needed.

    The server itself waits for ever for the rest of a request, and for a client to take its answer: some hundred
    connections that do neither would keep everybody out.
    """

    _since_s = 0.0
    """When the client's turn began, in the loop's time."""
    _checked_s = 0.0
    _unsent = 0
    _check: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a place, that of the client which is waited for the longest where there is none."""
        self._make_room()
        super().connection_made(cast(asyncio.Transport, transport))
        self._since_s = self._checked_s = self.loop.time()
        self._check = self.loop.call_later(PATIENCE_S, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place back."""
        if self._check is not None:
            self._check.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what the client sent; the time in which a request is sent begins with its first byte."""
        if self._is_between_requests:
            self._since_s = self.loop.time()
        super().data_received(data)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self._since_s = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Begin to wait until what was written is taken."""
        self._since_s = self.loop.time()
        super().pause_writing()

    def shutdown(self) -> None:
        """End without waiting for a client; an answer that is being worked out may be finished."""
        if self.is_clients_turn:
            self.transport.abort()
        else:
            super().shutdown()

    @property
    def is_clients_turn(self) -> bool:
        """Whether nothing happens here until the client does something."""
        is_answered = self.cycle is None or self.cycle.response_complete
        return is_answered or self.flow.write_paused or self.conn.their_state is h11.SEND_BODY

    @property
    def _is_between_requests(self) -> bool:
        """Whether nothing of the next request is there yet, for which the server has another limit."""
        return self.timeout_keep_alive_task is not None

    def _make_room(self) -> None:
        if len(self.connections) < CONNECTIONS:
            return
        others = [cast(BoundedConnection, one) for one in self.connections]
        waited_for = [one for one in others if one.is_clients_turn]
        if waited_for:
            longest = min(waited_for, key=lambda one: one._since_s)
            self.connections.discard(longest)  # it is told that it is lost in the next turn of the loop
            longest.transport.abort()

    def _look(self) -> None:
        """Hang up where the request is not there in time, or the answer is not being taken."""
        now_s, unsent = self.loop.time(), self.transport.get_write_buffer_size()
        is_answered = self.cycle is None or self.cycle.response_complete
        is_asking = (is_answered and not self._is_between_requests) or self.conn.their_state is h11.SEND_BODY
        is_late = is_asking and now_s - self._since_s >= PATIENCE_S
        is_stuck = bool(unsent) and self._since_s <= self._checked_s and self._unsent - unsent < _LEAST_TAKEN
        if is_late or is_stuck:
            self.transport.abort()
            return
        self._checked_s, self._unsent = now_s, unsent
        self._check = self.loop.call_later(PATIENCE_S, self._look)
