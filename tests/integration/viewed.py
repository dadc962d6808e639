"""A running `ascend-sn view`, and a client of it."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

__all__ = ["PATIENCE_S", "Viewed"]

PATIENCE_S = 300
_PAUSE_S = 0.02
"""Between two questions: whoever asks without a pause takes the processor from what it waits for."""


class Viewed:
    """A running `ascend-sn view`."""

    def __init__(self, *words: object) -> None:
        command = [sys.executable, "-m", "ascend_sn.cli.main", "view", "--no-browser", *map(str, words)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        assert self.process.stdout is not None
        self.lines = [self.process.stdout.readline().strip() for _ in range(2)]
        self.url = self.lines[0]
        self.port = int(self.url.split(":")[2].split("/")[0])
        self.token = self.url.partition("token=")[2]

    def get(self, path: str, **headers: str) -> tuple[int, bytes]:
        """Ask with the token; returns status and content."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}", **headers})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content

    def runs(self) -> list[dict[str, Any]]:
        """The runs once none is being read any more."""
        while True:
            found: list[dict[str, Any]] = json.loads(self.get("/api/v1/session")[1])["runs"]
            if all(run["state"] != "reading" for run in found):
                return found
            time.sleep(_PAUSE_S)

    def raw(self, request: bytes) -> bytes:
        """Send bytes and return what comes until the server closes; it may close before it has read them all."""
        pieces = []
        with (
            socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S) as connection,
            suppress(ConnectionError),
        ):
            connection.sendall(request)
            while piece := connection.recv(65_536):
                pieces.append(piece)
        return b"".join(pieces)

    def interrupted(self) -> tuple[int, str]:
        """Exit code and what was said on stderr after Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, said
