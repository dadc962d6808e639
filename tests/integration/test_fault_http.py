"""Slow, greedy and confused clients of the page, hostile SQL through it, and two pages that read one input at once."""

from __future__ import annotations

import json
import re
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.integration.test_fault_store import SLICES, TRACE

SLOW_CLIENTS = 200


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASCEND_SN_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "in" / "trace.json"
    path.parent.mkdir()
    path.write_text(json.dumps(TRACE))
    return path


def test_two_pages_that_read_one_input_at_once_show_the_same(trace: Path, start: Any) -> None:
    first, second = start(trace), start(trace)

    states = [viewed.runs()[0]["state"] for viewed in (first, second)]
    counts = [json.loads(viewed.get("/api/v1/runs/a/tracks")[1])["slice_count"] for viewed in (first, second)]

    assert states == ["ready", "ready"]
    assert counts[0] == counts[1] >= SLICES


def test_clients_that_never_finish_their_request_keep_nobody_out(trace: Path, start: Any) -> None:
    viewed = start(trace)
    viewed.runs()
    with ExitStack() as stack:
        for number in range(SLOW_CLIENTS):
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", viewed.port)))
            slow.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"a" * (number % 50))

        status, _ = viewed.get("/api/v1/session")

    assert status == 200
    assert viewed.interrupted()[0] == 130


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
