"""Commands to a running program: a Unix socket that only its own user may open.

A command that starts or stops a recording is carried out at a step of the program, on the thread that takes
the steps. One request a connection: a JSON object and a line feed each way.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import struct
import threading
from contextlib import suppress

from ascend_sn.collect.exit_hook import ExitHook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Commanded(Protocol):
        """What obeys."""

        def command(self, request: dict[str, Any]) -> dict[str, Any]:
            """Take a request and return what to answer."""


__all__ = ["ask", "listen", "listening_processes", "socket_folder"]

_CREDENTIALS = struct.Struct("3i")
_LONGEST = 65_536
_ANSWERED = {"is_recording", "step", "start_at", "stop_at", "folder", "failure"}
_PATIENCE_S = 5.0

_ANSWER_S = 30.0
"""How long an answer is waited for: a process that writes what PyTorch's profiler gave it keeps its threads waiting."""


def listen(commanded: Commanded) -> None:
    """Answer requests on a thread of its own until the process ends.

    Raises:
        OSError: The socket cannot be made.
        PermissionError: The folder of the sockets belongs to somebody else, or is open to others.
    """
    folder = socket_folder()
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(f"{folder} is not a folder that only you can open")
    path = os.path.join(folder, f"{os.getpid()}.sock")
    with suppress(FileNotFoundError):
        os.unlink(path)  # of an earlier process with this number
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        server.bind(path)
    finally:
        os.umask(before)
    server.listen(8)
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:
            with suppress(OSError):
                os.unlink(path)

    ExitHook(remove)
    threading.Thread(target=_serve, args=(server, commanded), name="ascend-sn-standby", daemon=True).start()


def ask(pid: int, request: dict[str, object]) -> dict[str, Any]:
    """Send a request to a process in standby and return its answer.

    Raises:
        ProfilerStateError: The process is not in standby, or who answers is another user.
    """
    from ascend_sn.errors import ProfilerStateError

    path = os.path.join(socket_folder(), f"{pid}.sock")
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(_ANSWER_S)
            client.connect(path)
            # The folder may lie where everybody can make one of this name.
            if os.getuid() not in (_user_of(client), 0):
                raise ProfilerStateError(f"{path}: another user answers there, not process {pid}")
            client.sendall(json.dumps(request).encode() + b"\n")
            answer = _line(client)
        found: dict[str, Any] = json.loads(answer)
        if not isinstance(found, dict) or not found.keys() >= _ANSWERED:
            raise ValueError("no answer of ours")
    except TimeoutError as error:
        raise ProfilerStateError(
            f"process {pid} is in standby and has not answered for {_ANSWER_S:.0f} s: stopped, or too busy; try again"
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise ProfilerStateError(
            f"process {pid} does not answer: only programs started with `ascend-sn run --standby` or with "
            "ASCEND_PROFILING_ENABLE=standby can be attached to"
        ) from error
    return found


def listening_processes(root: int) -> list[int]:
    """Return the processes in standby among `root` and those that it started, ascending."""
    try:
        names = os.listdir(socket_folder())
    except OSError:
        return []
    pids = sorted(int(name[:-5]) for name in names if name.endswith(".sock") and name[:-5].isdecimal())
    return [pid for pid in pids if root in _ancestry(pid)]


def socket_folder() -> str:
    """Return the folder of this user's sockets."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return os.path.join(runtime, "ascend-sn") if runtime else f"/tmp/ascend-sn-{os.getuid()}"


def _serve(server: socket.socket, commanded: Commanded) -> None:
    while True:
        try:
            client, _ = server.accept()
            with client:
                client.settimeout(_PATIENCE_S)
                if _user_of(client) not in (os.getuid(), 0):
                    continue
                request = json.loads(_line(client))
                if isinstance(request, dict):
                    client.sendall(json.dumps(commanded.command(request)).encode() + b"\n")
        except (OSError, ValueError, RecursionError):  # a client that went away, or sent no JSON
            continue


def _user_of(connection: socket.socket) -> int:
    """Return the user of the process at the other end."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    user: int = _CREDENTIALS.unpack(credentials)[1]
    return user


def _line(connection: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\n") and len(data) < _LONGEST:
        part = connection.recv(4096)
        if not part:
            break
        data += part
    return data


def _ancestry(pid: int) -> list[int]:
    """Return a process and those that it descends from."""
    found = []
    while pid > 0 and pid not in found:
        found.append(pid)
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                pid = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            break
    return found
