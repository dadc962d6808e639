"""`Profiler.export(format)` and `Profiler.view()`: the recording in other forms, made by a process of its own.

What reads recordings is large (a database, a report); it never enters the program's process.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from ascend_sn.collect.environment import SWITCHES
from ascend_sn.errors import ProfilerError
from ascend_sn.model.trace_schema import TRACE_NAME

__all__ = ["FORMATS", "export_recording", "view_recording"]

FORMATS = ("chrome", "csv", "json", "parquet", "arrow", "html")

_MAIN = "ascend_sn.cli.main"
_TIMEOUT_S = 1800


def export_recording(folder: str, format: str, path: str | None) -> str:
    """Write a recording in another form and return where it lies.

    Args:
        folder: The run folder, or the output folder of several ranks.
        format: `chrome`: a trace for Perfetto and chrome://tracing; `csv` and `parquet`: a folder with a file per
            table; `json`: the analysis; `html`: the report; `arrow`: the events, as the Arrow stream that they are
            recorded as.
        path: Where to; beside the recording, named after the format, when not given.

    Raises:
        ValueError: The format is none of these.
        ProfilerError: It could not be made; the message says why.
    """
    if format not in FORMATS:
        raise ValueError(f"export knows the formats {', '.join(FORMATS)}, not {format!r}")
    suffix = "chrome.json" if format == "chrome" else format
    target = os.path.abspath(path or f"{folder.rstrip('/')}.{suffix}")
    if format == "arrow":
        shutil.copyfile(os.path.join(folder, TRACE_NAME), target)
        return target
    words = {
        "chrome": ["-m", _MAIN, "export", "--input", folder, "--output", target],
        "csv": ["-m", _MAIN, "export", "--input", folder, "--format", "csv", "--output", target],
        "json": ["-m", _MAIN, "analyze", "--input", folder, "--output", target],
        "parquet": ["-m", _MAIN, "export", "--input", folder, "--format", "parquet", "--output", target],
        "html": ["-m", _MAIN, "report", "--input", folder, "--output", target],
    }[format]
    _run(words, f"export to {format}")
    return target


def view_recording(folder: str) -> tuple[str, str]:
    """Serve the web page of a recording from a process that goes on without us.

    Args:
        folder: The run folder, or the output folder of several ranks.

    Returns:
        The address, and lines that tell it, with the ssh command where one is needed.

    Raises:
        ProfilerError: The page could not be started; the message says why.
    """
    said = _run(["-m", _MAIN, "view", "--input", folder, "--background"], "view").strip()
    return said.splitlines()[0], said


def _run(words: list[str], what: str) -> str:
    """Run a command of ours and return what it printed."""
    # The other process is not to be recorded itself.
    environment = {name: value for name, value in os.environ.items() if name not in SWITCHES}
    done = subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise ProfilerError(f"{what} failed: {lines[-1] if lines else f'exit code {done.returncode}'}")
    return done.stdout
