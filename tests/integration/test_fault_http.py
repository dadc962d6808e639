"""Slow, greedy and confused clients of the page, hostile SQL through it, and two pages that read one input at once."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from ascend_sn.insight.connections import CONNECTIONS
from tests.integration.test_fault_store import SLICES, TRACE

SLOW_CLIENTS = 400


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASCEND_SN_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "in" / "trace.json"
    path.parent.mkdir()
    path.write_text(json.dumps(TRACE))
    return path


@pytest.fixture
def large(trace: Path) -> Path:
    """A trace whose table of kernels is a download of 2 MB."""
    slice_ = {"ph": "X", "cat": "cpu_op", "name": "aten::op", "pid": 1, "tid": 1, "dur": 5}
    slices = [{**slice_, "ts": 10 * at} for at in range(100 * SLICES)]
    trace.write_text(json.dumps({**TRACE, "traceEvents": slices}))
    return trace


def test_two_pages_that_read_one_input_at_once_show_the_same(trace: Path, start: Any) -> None:
    first, second = start(trace), start(trace)

    states = [viewed.runs()[0]["state"] for viewed in (first, second)]
    counts = [json.loads(viewed.get("/api/v1/runs/a/tracks")[1])["slice_count"] for viewed in (first, second)]

    assert states == ["ready", "ready"]
    assert counts[0] == counts[1] >= SLICES


HALF = "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: a"
HALF_A_BODY = (
    "PUT /api/v1/runs/a/marks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    "Content-Type: application/json\r\nContent-Length: 500\r\n\r\n["
)
ANSWERED = "GET /api/v1/session HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
DOWNLOAD = (
    "GET /api/v1/runs/a/tables/kernels?format=csv HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
)


@pytest.mark.parametrize("sent", [HALF, HALF_A_BODY, ANSWERED], ids=["half a head", "half a body", "idle"])
def test_clients_that_never_finish_their_request_keep_nobody_out(trace: Path, start: Any, sent: str) -> None:
    viewed = start(trace)
    viewed.runs()
    process = psutil.Process(viewed.process.pid)
    before = process.memory_info().rss
    with ExitStack() as stack:
        slow = [stack.enter_context(connected(viewed, sent)) for _ in range(SLOW_CLIENTS)]
        for byte in b"abc":  # as slow ones go on: a byte, now and then, where the server still listens to it
            for one in slow:
                with suppress(ConnectionError):
                    one.send(bytes([byte]))

        statuses = [viewed.get("/api/v1/session")[0] for _ in range(5)]

        assert statuses == [200] * 5
        assert process.num_fds() < CONNECTIONS + 30
        assert process.memory_info().rss - before < 60 << 20
        code, said = viewed.interrupted()
    assert (code, "Traceback" in said, "ERROR" in said) == (130, False, False)


def test_clients_that_read_slowly_or_not_keep_nobody_out_and_hold_little(large: Path, start: Any) -> None:
    viewed = start(large)
    viewed.runs()
    process = psutil.Process(viewed.process.pid)
    before = process.memory_info().rss
    with ExitStack() as stack:
        for _ in range(SLOW_CLIENTS):
            stack.enter_context(connected(viewed, DOWNLOAD, receive_bytes=4096))

        statuses = [viewed.get("/api/v1/session")[0] for _ in range(5)]

        assert statuses == [200] * 5
        assert process.num_fds() < 2 * CONNECTIONS + 30
        assert process.memory_info().rss - before < 250 << 20
        code, said = viewed.interrupted()
    assert (code, "Traceback" in said, "ERROR" in said) == (130, False, False)


def test_clients_that_go_in_the_middle_of_a_download_leave_nothing_behind(large: Path, start: Any) -> None:
    viewed = start(large)
    viewed.runs()
    process = psutil.Process(viewed.process.pid)
    gone(viewed, 5)
    before, files = process.memory_info().rss, process.num_fds()

    gone(viewed, 40)

    assert viewed.get("/api/v1/session")[0] == 200
    # The last of them are let go of when the server comes to it.
    assert settled(lambda: process.memory_info().rss - before < 40 << 20)  # their answers have 80 MB
    assert settled(lambda: process.num_fds() <= files + 2)


def settled(holds: Callable[[], bool]) -> bool:
    """Whether something becomes true within a minute."""
    for _ in range(600):
        if holds():
            return True
        time.sleep(0.1)
    return False


def connected(viewed: Any, sent: str, receive_bytes: int = 65_536) -> socket.socket:
    """A connection on which something was sent."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    connection.connect(("127.0.0.1", viewed.port))
    connection.sendall(sent.format(token=viewed.token).encode())
    return connection


def gone(viewed: Any, times: int) -> None:
    """Ask for a download and go when it begins."""
    for _ in range(times):
        with connected(viewed, DOWNLOAD, receive_bytes=4096) as connection:
            assert connection.recv(12) == b"HTTP/1.1 200"


def test_requests_that_follow_each_other_are_each_checked(trace: Path, start: Any) -> None:
    viewed = start(trace)
    viewed.runs()
    own = f"Host: localhost\r\nAuthorization: Bearer {viewed.token}\r\n"
    piped = (
        f"GET /api/v1/session HTTP/1.1\r\n{own}\r\n"
        "GET /api/v1/session HTTP/1.1\r\nHost: localhost\r\n\r\n"
        f"GET /api/v1/session HTTP/1.1\r\n{own.replace('localhost', 'evil.example')}Connection: close\r\n\r\n"
    )

    answers = viewed.raw(piped.encode())

    assert re.findall(rb"HTTP/1\.1 (\d+) ", answers) == [b"200", b"403", b"421"]


def test_a_request_of_two_lengths_smuggles_nothing(trace: Path, start: Any) -> None:
    viewed = start(trace)
    viewed.runs()
    smuggled = b"GET /api/v1/session HTTP/1.1\r\nHost: localhost\r\n\r\n"
    request = (
        f"PUT /api/v1/runs/a/marks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {viewed.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {5 + len(smuggled)}\r\nTransfer-Encoding: chunked\r\n"
        "Connection: close\r\n\r\n"
    )

    answers = viewed.raw(request.encode() + b"0\r\n\r\n" + smuggled)

    assert answers.count(b"HTTP/1.1 ") == 1
    assert b"HTTP/1.1 2" not in answers
    assert viewed.get("/api/v1/session")[0] == 200
