"""Whoever keeps the server waiting is hung up on."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, cast
from unittest.mock import Mock

import pytest
import uvicorn
from uvicorn.server import ServerState

from ascend_sn.insight import connections
from ascend_sn.insight.connections import BoundedConnection

PATIENCE_S = 60
LARGE = 16 << 20


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Take the whole request, then give a large answer."""
    while (await receive()).get("more_body"):
        pass
    head = [(b"content-length", str(LARGE).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": bytes(LARGE)})


@pytest.fixture
def lost() -> threading.Event:
    """Set once the server has let go of a connection."""
    return threading.Event()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server waits a tenth of a second for progress; on a busy machine a good client may need as long."""
    monkeypatch.setattr(connections, "PATIENCE_S", 0.1)


@pytest.fixture
def port(lost: threading.Event) -> Iterator[int]:
    class Connection(BoundedConnection):
        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            lost.set()

    config = uvicorn.Config(app, http=Connection, lifespan="off", log_level="critical", ws="none")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: local",
        b"PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n[",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
    ids=["nothing", "half a head", "half a body", "an answer that is not read"],
)
def test_who_sends_or_takes_nothing_for_long_is_hung_up_on(port: int, lost: threading.Event, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(sent)

        assert lost.wait(PATIENCE_S)


def test_who_takes_its_answer_gets_it_whole(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        taken = 0
        while piece := client.recv(1 << 16):
            taken += len(piece)

    assert taken > LARGE


@dataclass(eq=False)
class Later:
    at_s: float
    call: Callable[[], None]
    is_cancelled: bool = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Clock:
    """A loop that turns, and whose time passes, when the test says so."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.calls: list[Later] = []
        self.tasks: list[Coroutine[Any, Any, None]] = []

    def time(self) -> float:
        return self.now_s

    def call_later(self, delay_s: float, call: Callable[[], None]) -> Any:
        self.calls.append(Later(self.now_s + delay_s, call))
        return self.calls[-1]

    def create_task(self, work: Coroutine[Any, Any, None], **_options: Any) -> Any:
        self.tasks.append(work)
        return Mock()

    def pass_until(self, now_s: float) -> None:
        while self.tasks:
            with pytest.raises(StopIteration):  # none of them waits
                self.tasks.pop().send(None)
        while due := [one for one in self.calls if one.at_s <= now_s]:
            first = min(due, key=lambda one: one.at_s)
            self.calls.remove(first)
            self.now_s = first.at_s
            if not first.is_cancelled:
                first.call()
        self.now_s = now_s


class Line(asyncio.Transport):
    """A connection to nobody."""

    is_aborted = False
    sent = b""

    def write(self, data: Any) -> None:
        self.sent += data

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.is_aborted

    def abort(self) -> None:
        self.is_aborted = True

    close = abort


async def short_app(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def kept() -> tuple[BoundedConnection, Clock, Line]:
    """A connection that has had its first answer and is kept, at second 1000."""
    clock, line = Clock(), Line()
    config = uvicorn.Config(short_app, lifespan="off", log_level="critical", ws="none", timeout_keep_alive=300)
    connection = BoundedConnection(config, ServerState(), {}, cast(Any, clock))
    connection.connection_made(line)
    connection.data_received(REQUEST)
    clock.pass_until(1000)
    assert line.sent.endswith(b"ok")
    return connection, clock, line


def test_a_request_in_two_parts_on_a_kept_connection_has_its_own_minute(
    kept: tuple[BoundedConnection, Clock, Line],
) -> None:
    connection, clock, line = kept
    clock.pass_until(1070)
    connection.data_received(REQUEST[:20])
    clock.pass_until(1125)  # looked at once, at 1120
    connection.data_received(REQUEST[20:])
    clock.pass_until(1125)

    assert not line.is_aborted
    assert line.sent.count(b"ok") == 2


def test_half_a_request_on_a_kept_connection_is_hung_up_on_however_it_drips(
    kept: tuple[BoundedConnection, Clock, Line],
) -> None:
    connection, clock, line = kept
    clock.pass_until(1070)
    for second in range(20):
        connection.data_received(REQUEST[second : second + 1])
        clock.pass_until(1070 + 10 * second)

    assert line.is_aborted
    assert line.sent.count(b"ok") == 1
