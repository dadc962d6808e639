"""Damage every reader's corpus in named ways, and hold what comes of it against what is promised.

    python -m fuzz.promises [--reader NAME] [--each N] [--kind KIND]

An input is read with its damage named, or refused in one line that names it; never a traceback, a warning, a hang,
unbounded memory, or figures that are silently others. Faults are listed, and end with 1.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import resource
import shutil
import signal
import socket
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any, Final

import msgspec

from fuzz.corpus import CORPUS, Seed, seed
from fuzz.damages import Damage, Expected, Node, damages

__all__ = ["faults_of", "hold_to", "main", "place_node", "read_outcome", "tell"]

HANGS_AFTER_S: Final = 10
MEMORY: Final = 3 << 30
"""Address space for everything: the interpreter with numpy maps a part of it."""

_DROP, _OVERRIDES, _READS_ALL = 24, 1, 2  # prctl: PR_CAPBSET_DROP; CAP_DAC_OVERRIDE; CAP_DAC_READ_SEARCH
_IDENTITY: Final = ("rank", "world_size", "device_id", "start_ns", "host", "pid", "session_count", "device_kind")


class Outcome(msgspec.Struct):
    """What reading came to: the rows of each table, or the refusal; and everything that was told about it."""

    tables: dict[str, Counter[tuple[Any, ...]]] = {}
    told: set[tuple[Any, ...]] = set()
    refused: str = ""
    fault: str = ""


def read_outcome(opened: Path) -> Outcome:
    """Read and derive an input, as `open` does, but keep nothing."""
    from ascend_sn.derive import derive
    from ascend_sn.errors import InputError
    from ascend_sn.formats.discover import discover

    tables: dict[str, Counter[tuple[Any, ...]]] = {}
    told: set[tuple[Any, ...]] = set()
    try:
        found = discover(opened)
        told |= {("unreadable", *entry) for entry in found.unreadable} | {("foreign", name) for name in found.foreign}
        for source in found.sources:
            for capture in source.reader.read(source):
                derive(capture)
                told |= {(entry.kind, entry.file, entry.place, entry.example) for entry in capture.ledger.entries}
                told |= {(one.table_name, one.column_name, one.state, one.reason) for one in capture.coverage}
                identity = tuple(getattr(capture.header, name) for name in _IDENTITY)
                tables.setdefault("profile", Counter())[identity] += 1
                for name, rows in capture.tables.items():
                    counted = Counter(tuple(map(_cell, row.values())) for row in rows.to_dicts())
                    tables.setdefault(name, Counter()).update(counted)
    except InputError as error:
        return Outcome(refused=str(error))
    except Exception:  # noqa: BLE001 - whatever it is, it is the fault that is looked for
        return Outcome(fault=traceback.format_exc())
    return Outcome({name: rows for name, rows in tables.items() if rows}, told)


def _cell(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def faults_of(made: Seed, each: int | None, kind: str | None = None) -> tuple[int, list[str]]:
    """Damage an input in every way; return how many damages were tried, and what broke a promise."""
    with tempfile.TemporaryDirectory() as folder:
        sound = read_outcome(_placed(made, None, Path(folder) / "in"))
        assert not sound.fault, sound.fault
        tried, faults = 0, []
        for damage in damages(made, each):
            if kind is not None and kind not in damage.kind:
                continue
            tried += 1
            top = Path(folder) / f"{tried}"
            opened = _placed(made, damage, top)
            signal.alarm(HANGS_AFTER_S)
            try:
                fault = _judged(damage, sound, read_outcome(opened), top)
            finally:
                signal.alarm(0)
            if fault:
                faults.append(f"{damage.kind} | {damage.file} | {damage.place}: {fault}")
            shutil.rmtree(top)
    return tried, faults


def _judged(damage: Damage, sound: Outcome, outcome: Outcome, top: Path) -> str:
    if outcome.fault:
        return outcome.fault
    if outcome.refused:
        one_line = len(outcome.refused.splitlines()) == 1 and str(top) in outcome.refused
        if not one_line:
            return f"refused in other than one line with its file: {outcome.refused!r}"
        return f"refused: {outcome.refused}" if damage.expected is Expected.SAME and not sound.refused else ""
    other = sorted(
        name for name in {*sound.tables, *outcome.tables} if sound.tables.get(name) != outcome.tables.get(name)
    )
    if damage.expected is Expected.SAME and other:
        return f"other rows in {', '.join(other)}: {_difference(sound, outcome, other[0])}"
    if damage.expected is Expected.ROWS:
        other = [name for name in other if _count(outcome, name) < _count(sound, name)]
    if damage.expected in (Expected.TOLD, Expected.ROWS) and other and not outcome.told - sound.told:
        return f"nothing told of other rows in {', '.join(other)}: {_difference(sound, outcome, other[0])}"
    return ""


def _count(outcome: Outcome, table: str) -> int:
    return sum(outcome.tables.get(table, Counter()).values())


def _difference(sound: Outcome, outcome: Outcome, table: str) -> str:
    before, after = sound.tables.get(table, Counter()), outcome.tables.get(table, Counter())
    return f"{[*(before - after)][:2]} became {[*(after - before)][:2]}"


def _placed(made: Seed, damage: Damage | None, top: Path) -> Path:
    """Write the files of an input, one of them damaged; return the path to open."""
    for name, content in made.files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        damaged = damage.content if damage is not None and name == damage.file else content
        if isinstance(damaged, Node):
            place_node(damaged, path, content)
        else:
            path.write_bytes(damaged if isinstance(damaged, bytes) else damaged())
    return top / made.opened


def place_node(node: Node, path: Path, content: bytes) -> None:
    match node:
        case Node.FOLDER:
            path.mkdir()
            (path / "inside.txt").write_bytes(b"x")
        case Node.FIFO:
            os.mkfifo(path)
        case Node.LOOP:
            path.symlink_to(path.name)
        case Node.NOWHERE:
            path.symlink_to("nowhere")
        case Node.CLOSED:
            path.write_bytes(content)
            path.chmod(0)
        case Node.SOCKET:
            inside = os.open(path.parent, os.O_RDONLY)  # the path itself may be too long for a socket
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(f"/proc/self/fd/{inside}/{path.name}")
            os.close(inside)


def as_any_user(*words: str) -> None:
    """Start Python anew without the right of root to pass over the modes of files, if this is root."""
    if os.geteuid() == 0 and not os.environ.get("_FUZZ_AS_ANY_USER"):
        for capability in (_OVERRIDES, _READS_ALL):
            ctypes.CDLL(None).prctl(_DROP, capability, 0, 0, 0)
        os.execve(sys.executable, [sys.executable, *words], {**os.environ, "_FUZZ_AS_ANY_USER": "1"})


def hang(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"not done after {HANGS_AFTER_S} s")


def hold_to(module: str) -> None:
    """Start a module anew as any user, with bounded memory; warnings and what takes too long are faults."""
    as_any_user("-m", module, *sys.argv[1:])
    warnings.simplefilter("error")
    signal.signal(signal.SIGALRM, hang)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def tell(name: str, tried: int, faults: list[str]) -> bool:
    """Print the faults of one kind and how many damages were tried; whether there is any fault."""
    for fault in faults:
        print(f"{name}: {fault}")
    print(f"{name}: {tried} damages, {len(faults)} faults", flush=True)
    return bool(faults)


def main() -> None:
    options = argparse.ArgumentParser(description="Hold damaged inputs against what is promised.")
    options.add_argument("--reader", choices=list(CORPUS), action="append")
    options.add_argument("--each", type=int, help="damages of one kind and file; all without it")
    options.add_argument("--kind")
    chosen = options.parse_args()
    hold_to("fuzz.promises")
    broken = False
    for name in chosen.reader or CORPUS:
        for write in CORPUS[name]:
            broken |= tell(name, *faults_of(seed(write), chosen.each, chosen.kind))
    raise SystemExit(broken)


if __name__ == "__main__":
    main()
