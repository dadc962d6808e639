"""Fuzz the native core with the sanitizers on.

    python -m fuzz.native_core [MINUTES]

Compiles a copy of the core with AddressSanitizer and UndefinedBehaviorSanitizer, runs its unit tests against it,
then feeds the scanner and the ring reader damaged traces until the time is over. Needs gcc or clang. The turns of
a seed are the same on every machine; `fuzz.readers --sanitize` runs a number of them too.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from fuzz.mutate import mutate

ROOT = Path(__file__).resolve().parent.parent
FLAGS = "-O1 -g -Werror -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"
KEYS = ("a", "External id", "Call stack")


def build_copy(folder: Path) -> dict[str, str]:
    """Copy the package, compile its core with sanitizers, and return the environment that uses it."""
    sources = folder / "src" / "ascend_sn"
    shutil.copytree(ROOT / "src" / "ascend_sn", sources, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copy(ROOT / "hatch_build.py", folder)
    environment = {**os.environ, "CFLAGS": FLAGS}
    subprocess.run([sys.executable, folder / "hatch_build.py"], env=environment, check=True)
    runtime = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    return {
        **os.environ,
        "LD_PRELOAD": runtime.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0,allocator_may_return_null=1",
        "PYTHONPATH": f"{folder / 'src'}:{ROOT}",
        "PYTHONMALLOC": "malloc",
        "CI": "",
    }


def fuzz(seed: int, turns: Iterable[int]) -> bool:
    """Scan mutated traces and mutated rings; the sanitizers end the process on a fault."""
    from ascend_sn._native import _core, trace_scan
    from ascend_sn._native.ring import Ring

    piece_size, trace_scan._PIECE_SIZE = trace_scan._PIECE_SIZE, 500  # type: ignore[misc]
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spans.ring"
        ring = Ring.create(path, 16)
        for number in range(20):
            ring.begin(number, 16)
            ring.append(1, 2, number, 4, 5, 6, 7)
        whole = path.read_bytes()
        for turn in turns:
            dice = random.Random(f"core {seed} {turn}")
            _scan(mutate(event_list(dice), dice), dice)
            header = bytearray(whole)
            at = dice.randrange(256)
            header[at : at + 8] = dice.randbytes(8)
            _core.ring_recover(header[: dice.choice((len(header), dice.randrange(len(header))))])
            done += 1
    trace_scan._PIECE_SIZE = piece_size  # type: ignore[misc]
    print(f"core: {done} turns of seed {seed}, no fault ({_core.__file__})", flush=True)
    return True


def _scan(data: bytes, dice: random.Random) -> None:
    from ascend_sn._native import trace_scan

    size = dice.choice((37, 1000, 1 << 16))
    for block in trace_scan.scan_blocks(
        data, KEYS, keep_other_args=dice.random() < 0.5, threads=dice.choice((1, 3)), block_bytes=size
    ):
        for column in block.args.values():
            assert len(column.kind) == block.count
        assert len(list(block.strings)) == len(block.strings)


def until(seconds: float) -> Iterator[int]:
    """Count turns until the time is over."""
    end, turn = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        yield turn
        turn += 1


def event_list(dice: random.Random) -> bytes:
    """Return a small trace with a bit of everything."""
    events = [
        b'{"ph":"X","name":"n%d","pid":%d,"tid":"%d","ts":"%d.%03d","dur":%d.5,"id2":{"local":"0x%x"},"args":'
        b'{"a":[1,{"b":"\\u00e9\\n"}],"External id":%d,"Call stack":"f(1);\\r\\ng(2)","x":-1.5e-3,"y":null}}'
        % tuple(dice.randrange(1000) for _ in range(8))
        for _ in range(dice.randrange(1, 40))
    ]
    listed = b"[" + b", ".join(events) + b"]"
    return listed if dice.random() < 0.5 else b'{"h":{"k":[1,2]}, "traceEvents": ' + listed + b',"z":"t"}'


def main() -> None:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    with tempfile.TemporaryDirectory() as folder:
        environment = build_copy(Path(folder))
        tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(ROOT / "tests/unit/_native")]
        code = f"from fuzz.native_core import fuzz, until; fuzz({time.time_ns()}, until({60 * minutes}))"
        for command in (tests, [sys.executable, "-c", code]):
            subprocess.run(command, env=environment, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
