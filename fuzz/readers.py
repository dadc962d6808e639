"""Fuzz the readers: damaged files may be refused in words, never with a traceback, a warning or a hang.

    python -m fuzz.readers [--runs N] [--seed N] [--target json|csv|sqlite|pickle] [--turn N] [--sanitize]

The turns of a seed are the same on every machine; `--turn` repeats one. A fault is kept below `build/fuzz` and
ends with 1. With `--sanitize` the core alone, then the readers, work on a core compiled with AddressSanitizer and
UndefinedBehaviorSanitizer (needs gcc or clang).
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final

from fuzz.mutate import CSV, JSON, mutate, overwrite
from fuzz.native_core import ROOT, build_copy
from fuzz.seeds import SEEDS, Files

__all__ = ["damaged", "main", "run_turn"]

HANGS_AFTER_S: Final = 60
WHOLE_EVERY: Final = 25
"""Turns of which the whole way to a run folder is gone; reading alone is ten times quicker."""

_CORE_TURNS: Final = 10
"""Turns of the core alone for one of a reader: they are that much quicker."""

CHILD_ENDS: Final = (0, 1, 2)
UNKNOWN_END: Final = 99


def damaged(target: str, dice: random.Random) -> Files:
    """Return a seed of the target, which may hold odd values, mostly with one of its files damaged."""
    files = dict(SEEDS[target](dice))
    name = dice.choice([name for name in files if name.endswith((".csv", ".db", ".pickle")) or target == "json"])
    for _ in range(dice.choice((0, 1, 1, 2))):
        files[name] = _DAMAGE[target](files[name], dice)
    return files


_DAMAGE: Final[dict[str, Callable[[bytes, random.Random], bytes]]] = {
    "json": lambda data, dice: mutate(data, dice, JSON),
    "csv": lambda data, dice: mutate(data, dice, CSV),
    "sqlite": lambda data, dice: overwrite(data, dice) if data and dice.random() < 0.9 else mutate(data, dice),
    "pickle": lambda data, dice: overwrite(data, dice) if data and dice.random() < 0.7 else mutate(data, dice),
}


def run_turn(target: str, seed: int, turn: int, folder: Path, *, whole: bool) -> bool:
    """Read one damaged input in `folder` (empty), `whole` into a run folder; return whether it was usable.

    Raises:
        Exception: Anything but a refusal in words is a fault of ours.
    """
    dice = random.Random(f"{target} {seed} {turn}")
    files = damaged(target, dice)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    opened = folder if len(files) > 1 else folder / next(iter(files))
    signal.alarm(HANGS_AFTER_S)
    try:
        if target == "pickle":
            return _unpickled(opened)
        return _opened(opened) if whole else _read(opened)
    finally:
        signal.alarm(0)


def _read(path: Path) -> bool:
    """Read and derive, as `open` does, but keep nothing."""
    from ascend_sn.derive import derive
    from ascend_sn.errors import AscendSnError
    from ascend_sn.formats.discover import discover

    try:
        for source in discover(path).sources:
            for capture in source.reader.read(source):
                derive(capture)
    except AscendSnError:
        return False
    return True


def _opened(path: Path) -> bool:
    from ascend_sn.errors import AscendSnError
    from ascend_sn.store import open_run

    with tempfile.TemporaryDirectory() as cache:
        try:
            with open_run(path, cache_dir=Path(cache)) as run:
                run.sql("select count(*) from kernel").fetchall()
        except AscendSnError:
            return False
    return True


def _unpickled(path: Path) -> bool:
    """Do what the reader's child process does, in a copy of this process, which has to stay small for its limits."""
    from ascend_sn.formats import snapshot_child

    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        end, words = UNKNOWN_END, os.dup(2)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        try:
            end = snapshot_child.main(str(path))
            sys.stdout.flush()
        except BaseException:  # noqa: BLE001 - the copy may not go on as the parent
            os.write(words, traceback.format_exc().encode())
        finally:
            os._exit(end)
    _, status = os.waitpid(child, 0)
    end = os.waitstatus_to_exitcode(status)
    if end not in CHILD_ENDS:
        raise RuntimeError(f"the child process ended with {end}")
    return end == 0


def fuzz(target: str, seed: int, turns: range, *, whole_every: int = WHOLE_EVERY) -> bool:
    """Run turns of one target, some of them to a run folder (0: none); return whether all went well."""
    warnings.simplefilter("error")
    signal.signal(signal.SIGALRM, _hang)
    usable = 0
    for turn in turns:
        with tempfile.TemporaryDirectory() as folder:
            try:
                whole = whole_every > 0 and turn % whole_every == 0
                usable += run_turn(target, seed, turn, Path(folder), whole=whole)
            except Exception:  # noqa: BLE001 - whatever it is, it is the fault that is looked for
                traceback.print_exc()
                kept = ROOT / "build" / "fuzz" / f"{target}-{seed}-{turn}"
                kept.parent.mkdir(parents=True, exist_ok=True)
                subprocess.run(["cp", "-r", folder, kept], check=True)
                print(f"{target}: fault in turn {turn} of seed {seed}; the input is kept at {kept}", flush=True)
                return False
    print(f"{target}: {len(turns)} turns of seed {seed}, {usable} usable, no fault", flush=True)
    return True


def _hang(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"not done after {HANGS_AFTER_S} s")


def main() -> None:
    options = argparse.ArgumentParser(description="Fuzz the readers.")
    options.add_argument("--runs", type=int, default=1_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--target", choices=list(SEEDS), action="append")
    options.add_argument("--turn", type=int)
    options.add_argument("--sanitize", action="store_true")
    chosen = options.parse_args()
    turns = range(chosen.runs) if chosen.turn is None else range(chosen.turn, chosen.turn + 1)
    targets = chosen.target or list(SEEDS)
    if chosen.sanitize:
        # The limits of the pickle's process leave no room for the shadow memory, and no C of ours runs there. DuckDB
        # brings a C++ runtime of its own, which the sanitizer does not know: its first exception would end the process.
        code = (
            "import sys\nfrom fuzz import native_core\nfrom fuzz.readers import fuzz\n"
            f"seed, turns = {chosen.seed}, range({turns.start}, {turns.stop})\n"
            f"went_well = [native_core.fuzz(seed, range({_CORE_TURNS} * turns.start, {_CORE_TURNS} * turns.stop))]\n"
            f"went_well += [fuzz(one, seed, turns, whole_every=0) for one in {targets!r} if one != 'pickle']\n"
            "sys.exit(not all(went_well))"
        )
        with tempfile.TemporaryDirectory() as folder:
            environment = build_copy(Path(folder))
            raise SystemExit(
                subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, check=False).returncode
            )
    # The pickles first: their process has to stay small.
    ordered = sorted(targets, key=lambda target: target != "pickle")
    raise SystemExit(not all([fuzz(target, chosen.seed, turns) for target in ordered]))


if __name__ == "__main__":
    main()
