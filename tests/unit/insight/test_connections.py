"""Whoever keeps the server waiting is hung up on."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

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
