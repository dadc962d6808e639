"""What a program in standby, and who attaches to it, make of strangers and of messages that are none."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_sn.collect.standby import ask, socket_folder
from ascend_sn.errors import ProfilerStateError

PROGRAM = "import sys; print('ready', flush=True); sys.stdin.read()"


@pytest.fixture
def sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = Path(socket_folder())
    assert folder.parent == tmp_path
    return folder


@pytest.fixture
def program(sockets: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-m", "ascend_sn.cli.main", "run", "--standby", "--output", str(tmp_path / "out")]
    with subprocess.Popen(
        [*words, "--", sys.executable, "-c", PROGRAM],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "ready\n"
        yield started
        started.kill()


MESSAGES = {
    "nothing": b"",
    "no line": b"{",
    "no object": b"[1]\n",
    "a number": b"7\n",
    "no JSON": b"\xff\xfe\n",
    "deep": b"[" * 60_000 + b"\n",
    "long": b"x" * 200_000,
    "odd values": b'{"command": [], "step": "x", "output": 7}\n',
    "a huge step": b'{"command": "stop", "step": ' + b"9" * 4_000 + b"}\n",
    "an output that cannot be": b'{"command": "status", "output": "\\u0000\\ud800"}\n',
}


def test_messages_that_are_none_do_not_end_the_standby(program: subprocess.Popen[str], sockets: Path) -> None:
    (path,) = sockets.iterdir()
    for message in MESSAGES.values():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.connect(str(path))
            try:
                client.sendall(message)
                client.shutdown(socket.SHUT_WR)
                client.recv(65_536)
            except OSError:  # hung up on
                continue

    told = ask(int(path.stem), {"command": "status"})

    assert (told["is_recording"], told["failure"]) == (False, None)
    assert program.stdin is not None
    assert program.stderr is not None
    program.stdin.close()
    assert "Traceback" not in program.stderr.read()


@pytest.mark.parametrize("answer", [b"", b"[]\n", b"7\n", b"{}\n", b"[" * 60_000, b"\xff\n", b'{"step": 1}\n'])
def test_an_answer_that_is_none_is_one_line(sockets: Path, answer: bytes) -> None:
    sockets.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(sockets / "1.sock"))
        server.listen()
        thread = threading.Thread(target=_answer, args=(server, answer))
        thread.start()

        with pytest.raises(ProfilerStateError, match="process 1 does not answer"):
            ask(1, {"command": "status"})
        thread.join()


@pytest.mark.skipif(os.getuid() != 0, reason="never: only root can become another user")
def test_a_socket_of_another_user_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    script = (
        "import os, ascend_sn.errors\n"
        "from ascend_sn.collect.standby import ask\n"
        "os.setuid(65534)\n"
        "try: ask(1, {'command': 'start', 'output': '/home/me/secret'})\n"
        "except ascend_sn.errors.ProfilerStateError as error: print(error)\n"
    )
    with tempfile.TemporaryDirectory() as place, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        monkeypatch.setenv("XDG_RUNTIME_DIR", place)
        path = Path(socket_folder()) / "1.sock"
        path.parent.mkdir()
        os.chmod(place, 0o755)
        server.bind(str(path))  # by root, as whoever made the folder before
        server.listen()
        path.chmod(0o777)

        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

        server.settimeout(10)
        client, _ = server.accept()
        with client:
            heard = client.recv(100)
    assert done.stdout == f"{path}: another user answers there, not process 1\n", done.stderr
    assert heard == b""


def _answer(server: socket.socket, answer: bytes) -> None:
    client, _ = server.accept()
    with client:
        assert json.loads(client.recv(1_000)) == {"command": "status"}
        client.sendall(answer)
