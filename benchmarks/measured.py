"""Run a piece of work in a process of its own and say what it cost.

CPU seconds count, not elapsed ones, because machines are shared; peak memory is that of the whole process,
interpreter and libraries included.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["ROOT", "Cost", "medians", "python", "run_measured"]

ROOT: Final = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Cost:
    """What a process used.

    Attributes:
        cpu_s: User and system seconds of the process and of the children it waited for.
        peak_bytes: Largest resident memory of the process.
        said: The last line of its output, as JSON.
    """

    cpu_s: float
    peak_bytes: int
    said: Any


# A program's peak is at least the memory of the process that started it. So a small one starts it, however much is
# held here.
_LAUNCH: Final = """
import json, os, subprocess, sys
child = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(child.pid, 0)
cost = {"cpu_s": usage.ru_utime + usage.ru_stime, "peak_bytes": usage.ru_maxrss * 1024}
os.write(int(sys.argv[1]), json.dumps(cost).encode())
sys.exit(min(abs(os.waitstatus_to_exitcode(status)), 255))
"""


def run_measured(
    command: Sequence[str | Path], *, cwd: Path = ROOT, environment: Mapping[str, str] | None = None
) -> Cost:
    """Run a command and return its cost.

    Raises:
        CalledProcessError: The command failed; its words are on stderr.
    """
    variables = {**os.environ, **(environment or {})}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    words = list(map(str, command))
    read, write = os.pipe()
    launched = [sys.executable, "-c", _LAUNCH, str(write), *words]
    with open(read, encoding="utf-8") as told:
        try:
            done = subprocess.run(
                launched, cwd=cwd, env=variables, stdout=subprocess.PIPE, pass_fds=[write], check=False
            )
        finally:
            os.close(write)
        usage = json.loads(told.read())
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, words, done.stdout)
    return Cost(usage["cpu_s"], usage["peak_bytes"], _last_line(done.stdout))


def medians(costs: Sequence[Cost]) -> Cost:
    """Return the medians of several runs, which have to agree in what they said."""
    said = {json.dumps(cost.said, sort_keys=True) for cost in costs}
    if len(said) != 1:
        raise ValueError(f"runs of the same work disagree: {sorted(said)}")
    return Cost(
        statistics.median(cost.cpu_s for cost in costs),
        int(statistics.median(cost.peak_bytes for cost in costs)),
        costs[0].said,
    )


def python(code: str) -> list[str]:
    """Return the command that runs a piece of Python in this environment."""
    return [sys.executable, "-c", code]


def _last_line(output: bytes) -> Any:
    lines = output.decode(errors="replace").strip().splitlines()
    try:
        return json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
