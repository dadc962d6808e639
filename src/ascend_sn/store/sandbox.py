"""SQL of strangers on a run: it sees the tables of that run and nothing else of the machine, see `sandbox_process`."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from ascend_sn.errors import QueryError
from ascend_sn.store.run import Run
from ascend_sn.store.sandbox_process import Asked, More, Saved, Shown

__all__ = ["Answer", "Sandbox"]

SECONDS: Final = 60.0
"""Time after which a query is stopped, unless another one is given."""

_MAIN: Final = "from ascend_sn.store.sandbox_process import main; main()"
"""Not with `-m`: what is sent would be of other classes than those of the module that is run."""


class Answer:
    """What a query returns: `columns` (names), `types` (DuckDB's names), and the rows, worked out when asked for."""

    def __init__(self, process: _Process, columns: list[str], types: list[str]) -> None:
        self._process = process
        self.columns = columns
        self.types = types

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows in their order, a batch at a time."""
        while batch := self._process.asked(More()):
            yield from batch

    def write_parquet(self, path: Path) -> None:
        """Write the whole answer as a Parquet file, compressed with zstd.

        Raises:
            QueryError: A mistake that shows only now, too much time, or values that such files cannot hold.
            OSError: It cannot be written.
        """
        self._process.asked(Saved(path.absolute()))


class Sandbox:
    """A process for SQL that is not trusted. Close it, or use it in a `with` statement.

    A query is exactly one SELECT. It reads the Parquet files of the run; every other file, the network, extensions,
    the settings and Python's variables are out of reach; memory, disk, threads and time are bounded, whatever the
    statement: where it cannot be stopped, its process ends, and the next query gets another one.
    """

    def __init__(self, run: Run, *, timeout_s: float = SECONDS) -> None:
        """Begin to show the tables of `run`.

        Args:
            run: An opened run.
            timeout_s: Seconds of work after which a query is stopped; those in which its rows are used do not count.

        Raises:
            QueryError: The process cannot be started.
        """
        self.timeout_s = timeout_s
        self._opened = ExitStack()
        self._folder = tempfile.TemporaryDirectory(prefix="ascend-sn-query-", ignore_cleanup_errors=True)
        self._shown = Shown(
            {name: list(files) for name, files in run.files.items()}, run.assumed_ranks, self._folder.name
        )
        try:
            self._process = _Process(self._shown)
        except BaseException:
            self._folder.cleanup()
            raise

    @contextmanager
    def answer(self, sql: str) -> Iterator[Answer]:
        """Run a query and hand out its rows while the `with` block lasts.

        Raises:
            QueryError: Not exactly one SELECT, a mistake in it, too much memory or too much time.
        """
        if any("\ud800" <= character <= "\udfff" for character in sql):  # what Python makes of bytes that are no text
            raise QueryError("the query holds bytes that are no UTF-8")
        if not self._process.is_ready:
            self._process.end()
            self._process = _Process(self._shown)
        yield Answer(self._process, *self._process.asked(Asked(sql, self.timeout_s)))

    def keep_open(self, opened: ExitStack) -> None:
        """Close what the tables are read from together with the sandbox."""
        self._opened.push(opened)

    def close(self) -> None:
        """End the process, and remove what it kept on disk."""
        self._process.end()
        self._folder.cleanup()
        self._opened.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Process:
    """The other process; `is_ready` says whether it waits for the next request."""

    def __init__(self, shown: Shown) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-c", _MAIN, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
            )
            self._talk = Connection(ours.detach())
        try:
            self._talk.send(shown)
        except OSError as error:
            self.end()
            raise QueryError("the process that answers queries died as it began; was it out of memory?") from error
        self._timeout_s = self._used_s = 0.0
        self.is_ready = True

    def asked(self, request: Asked | More | Saved) -> Any:
        """Return what it answers.

        Raises:
            QueryError: What is wrong with the query; the limit is reached.
            OSError: A file cannot be written.
        """
        if isinstance(request, Asked):
            self._timeout_s, self._used_s = request.timeout_s, 0.0
        began = time.monotonic()
        self.is_ready = False
        try:
            self._talk.send(request)
            reply = self._talk.recv()
        except (EOFError, OSError) as error:
            if self._used_s + time.monotonic() - began >= self._timeout_s:
                raise QueryError(f"the query was stopped after {self._timeout_s:g} s") from error
            raise QueryError("the process that answers the query died; was it out of memory?") from error
        self.is_ready = True
        self._used_s += time.monotonic() - began
        if isinstance(reply, Exception):
            raise reply
        return reply

    def end(self) -> None:
        """End it, whatever it does."""
        self._talk.close()
        self._child.kill()
        self._child.wait()
