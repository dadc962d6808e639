"""The web page of a run for notebooks and the Python prompt; what serves it is another process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from html import escape
from pathlib import Path

from ascend_sn.errors import StoreError
from ascend_sn.store.environment import notebook_prefix
from ascend_sn.store.input import Input

__all__ = ["Page", "inline_page", "served_page"]

_MAIN = "ascend_sn.cli.main"


class Page:
    """A page that shows itself in a notebook.

    Attributes:
        url: Its address, which holds a secret token; empty where no server is needed.
        tunnel: The ssh command that makes it reachable from another machine; empty where none is needed.
        pid: The process that serves it; None where none does.
    """

    def __init__(self, html: str, *, url: str = "", tunnel: str = "", pid: int | None = None) -> None:
        self._html = html
        self.url = url
        self.tunnel = tunnel
        self.pid = pid

    def close(self) -> None:
        """End the process that serves the page."""
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
            self.pid = None

    def __repr__(self) -> str:
        return "\n".join(line for line in (self.url, self.tunnel) if line) or "Page(inline)"

    def _repr_html_(self) -> str:
        """Return the frame that a notebook shows."""
        return self._html


def served_page(named: Input, folder: Path, *, job: str | None, cache_dir: Path | None, height: int) -> Page:
    """Start a server for a run, and return a frame that shows it.

    Inside JupyterHub the frame goes through the hub's own proxy (the package jupyter-server-proxy must be installed
    there), else straight to the machine that the notebook's browser runs on.

    Raises:
        StoreError: It could not be started.
    """
    prefix = notebook_prefix()
    words = ["view", "--background", "--no-browser", "--format", "json", *_which(named, folder, job, cache_dir)]
    if prefix is not None:
        words += ["--base-url", f"{prefix.rstrip('/')}/proxy/{{port}}/"]
    said = json.loads(_output(named, words))
    frame = f'<iframe src="{escape(said["frame"])}" width="100%" height="{int(height)}" style="border: 0"></iframe>'
    return Page(frame, url=said["url"], tunnel=said["tunnel"], pid=said["pid"])


def inline_page(named: Input, folder: Path, *, job: str | None, cache_dir: Path | None, height: int) -> Page:
    """Return the report of a run in a frame that needs no server.

    Raises:
        StoreError: The report could not be made.
    """
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "report.html"
        _output(named, ["report", "--output", str(path), *_which(named, folder, job, cache_dir)])
        report = path.read_text(encoding="utf-8")
    # The report asks for nothing beyond itself; in a sandbox it could not even if its input were hostile.
    options = f'sandbox="allow-scripts allow-downloads" width="100%" height="{int(height)}" style="border: 0"'
    return Page(f'<iframe srcdoc="{escape(report)}" {options}></iframe>')


def _which(named: Input, folder: Path, job: str | None, cache_dir: Path | None) -> list[str]:
    """The run as options; of several paths, each of which would be a run of the page, the folder of their tables."""
    words = ["--input", str((named.only or folder).absolute())]
    return words + (["--job", job] if job is not None else []) + (["--cache-dir", str(cache_dir)] if cache_dir else [])


def _output(named: Input, words: list[str]) -> str:
    """Run a command of ours and return what it printed."""
    done = subprocess.run([sys.executable, "-P", "-m", _MAIN, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        reason = lines[-1].removeprefix("ascend-sn: ") if lines else f"exit code {done.returncode}"
        raise StoreError(named.paths[0], f"the page could not be made: {reason}")
    return done.stdout
