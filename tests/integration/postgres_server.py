"""A PostgreSQL server of the tests' own: on a Unix socket, in a folder that goes with it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PASSWORD = "quite-secret"
_USER = "postgres"


@dataclass(frozen=True)
class Server:
    """A running server; `url` has the password of its only user."""

    socket: Path

    def url(self, database: str = "postgres", password: str = PASSWORD) -> str:
        """The URL of one of its databases."""
        return f"postgresql://{_USER}:{password}@/{database}?host={self.socket}"


def programs() -> Path | None:
    """Where the server's programs are; None where it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).parent if on_path else None


def runner() -> str | None:
    """Who runs the server: it refuses root. None: whoever runs the tests."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(_USER).pw_name
    except KeyError:
        return ""


@contextmanager
def server() -> Iterator[Server]:
    """Make, start and stop a server."""
    bin_folder = programs()
    assert bin_folder is not None
    user = runner()
    folder = Path(tempfile.mkdtemp(prefix="history-pg-"))  # short: a socket's path has at most 107 bytes
    data, secret = folder / "data", folder / "secret"
    secret.write_text(PASSWORD)
    if user:
        for path in (folder, secret):
            shutil.chown(path, user)

    def run(program: str, *words: object) -> None:
        subprocess.run(
            [bin_folder / program, *map(str, words)],
            user=user or None,
            cwd=folder,
            check=True,
            timeout=300,
            stdout=subprocess.DEVNULL,
        )

    try:
        run("initdb", "-D", data, "-U", _USER, f"--pwfile={secret}", "--auth=scram-sha-256", "--no-sync")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        run("pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start")
        try:
            yield Server(folder)
        finally:
            run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
