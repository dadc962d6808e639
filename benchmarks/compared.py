"""Ours and a peer's in turn, in processes of their own; medians and ratios as a table.

The peers live in an environment of their own, `build/peers`, which is made from the package index when it is absent.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.measured import ROOT, Cost, run_measured

__all__ = ["PEERS", "Comparison", "Side", "compare", "peers_python"]

PEERS: Final = ROOT / "build" / "peers"
PACKAGES: Final = ("HolisticTraceAnalysis", "msprof-analyze", "pandas<3", "networkx")
"""HTA 0.5 fails with pandas 3: it writes positions into columns that are too narrow for them."""


@dataclass(frozen=True)
class Side:
    """One way to do the work: a command, or code that prints {"cpu_s": ..., "found": ...} as its last line.

    Without a `cpu_s` of its own, the CPU seconds of the whole process count, imports included.
    """

    name: str
    code: str = ""
    command: Sequence[str] = ()


@dataclass(frozen=True)
class Comparison:
    """The same work by us and by others; `reach` is the least ratio that is asked for."""

    what: str
    ours: Side
    peers: Sequence[Side]
    reach: float | None = None
    rounds: int | None = None


def peers_python() -> Path:
    """Return the interpreter of the peers' environment, which is made first where it is absent."""
    python = PEERS / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(PEERS)], check=True)
    wanted = [name for name in PACKAGES if not _installed(name)]
    if wanted:
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *wanted], check=True)
    return python


def compare(comparisons: Sequence[Comparison], rounds: int) -> None:
    """Run all comparisons, the sides of each in turn, and print a row for each peer."""
    print(
        f"| {'work':44} | ours CPU s | ours peak MB | peer | peer CPU s | peer peak MB | CPU ratio | reach | result |"
    )
    print("|---|---:|---:|---|---:|---:|---:|---:|---|")
    for one in comparisons:
        sides = [one.ours, *one.peers]
        costs: list[list[Cost]] = [[] for _ in sides]
        for _ in range(one.rounds or rounds):
            for side, measured in zip(sides, costs, strict=True):
                measured.append(run_measured(_command(side, own=side is one.ours)))
        own_cpu, own_peak, own_found = _median(costs[0])
        for side, measured in zip(one.peers, costs[1:], strict=True):
            cpu, peak, found = _median(measured)
            result = _agreement(own_found, found)
            reach = f">= {one.reach:g}" if one.reach is not None else ""
            print(
                f"| {one.what:44} | {own_cpu:.3f} | {own_peak:.0f} | {side.name} | {cpu:.3f} | {peak:.0f} "
                f"| {cpu / own_cpu:.1f} | {reach} | {result} |",
                flush=True,
            )


def _agreement(ours: object, theirs: object) -> str:
    """Say whether both found the same; work whose results cannot be compared says so."""
    if ours is None or theirs is None:
        return "not compared"
    return "same" if ours == theirs else f"differs: {ours} / {theirs}"


def _installed(name: str) -> bool:
    wanted = name.partition("<")[0].lower().replace("-", "_")
    return any(PEERS.glob(f"lib/python3*/site-packages/{wanted}-*.dist-info"))


def _command(side: Side, *, own: bool) -> list[str]:
    if side.command:
        return list(side.command)
    return [sys.executable if own else str(peers_python()), "-W", "ignore", "-c", side.code]


def _median(costs: Sequence[Cost]) -> tuple[float, float, object]:
    """CPU seconds, peak in MB, and what was found."""
    said = [cost.said if isinstance(cost.said, dict) else {} for cost in costs]
    cpu = statistics.median(one.get("cpu_s", cost.cpu_s) for one, cost in zip(said, costs, strict=True))
    return cpu, statistics.median(cost.peak_bytes for cost in costs) / 1e6, said[0].get("found")
