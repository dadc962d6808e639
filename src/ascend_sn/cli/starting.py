"""Start the page in a process of its own, which outlives the one that asks for it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from ascend_sn.errors import UsageError

__all__ = ["started"]


def started(words: Sequence[str]) -> dict[str, Any]:
    """Start `ascend-sn view` with these words, and return what it says once it answers.

    Raises:
        UsageError: It did not start; its last line says why.
    """
    command = [sys.executable, "-P", "-m", "ascend_sn.cli.main", "view", *words, "--format", "json"]
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
        )
        assert child.stdout is not None
        with child.stdout:
            line = child.stdout.readline()
        if line:
            found: dict[str, Any] = json.loads(line)
            found.pop("schema")
            child.returncode = 0  # it goes on without us
            return found
        child.wait()
        errors.seek(0)
        lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    raise UsageError(lines[-1].removeprefix("ascend-sn: ") if lines else "the page could not be started")
