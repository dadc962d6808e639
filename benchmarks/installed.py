"""What an installation takes: the wheel, the environment that it fills, and the time of an import.

    python -m benchmarks.installed [--wheel WHEEL]

The wheel is built and installed into a new virtual environment, with the packages that it needs from the index. An
import is a process that does nothing else, less a process that does nothing; the two alternate. "First" is without
compiled files of Python, as after an installation that did not make them. Time is processor time.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.measured import ROOT, run_measured

PACKAGES: Final = ("ascend_sn", "ascend.profiler", "asc_tools.profiler")
REPEATS: Final = 15
LARGEST: Final = 6
MB: Final = 1_000_000


def built_wheel(folder: Path) -> Path:
    """Build the wheel of this tree."""
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT], check=True
    )
    (wheel,) = folder.glob("ascend_sn-*.whl")
    return wheel


def new_environment(folder: Path, wheel: Path) -> Path:
    """Install the wheel and what it needs; return the interpreter."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
    return python


def sizes_of(environment: Path) -> dict[str, int]:
    """Return the bytes of each thing in the environment's packages, the largest first, without pip's own."""
    (packages,) = environment.glob("lib/python*/site-packages")
    sizes = {
        path.name: sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())
        for path in packages.iterdir()
        if not path.name.startswith(("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence"))
    }
    return dict(sorted(sizes.items(), key=lambda item: -item[1]))


def import_ms(python: Path, module: str, *, first: bool) -> float:
    """Return the processor time that an import adds to an interpreter, the median of some, in ms."""
    added = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as empty:
            options = ["-X", f"pycache_prefix={empty}"] if first else []
            if first:  # the interpreter's own modules are compiled
                run_measured([python, *options, "-I", "-c", "print(0)"])
            nothing = run_measured([python, *options, "-I", "-c", "print(0)"])
            something = run_measured([python, *options, "-I", "-c", f"import {module}; print(0)"])
        added.append((something.cpu_s - nothing.cpu_s) * 1000)
    return statistics.median(added)


def main() -> None:
    options = argparse.ArgumentParser(description="Measure what an installation takes.")
    options.add_argument("--wheel", type=Path, help="this one, instead of one that is built")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        wheel = chosen.wheel or built_wheel(Path(scratch))
        python = new_environment(Path(scratch) / "environment", wheel)
        sizes = sizes_of(Path(scratch) / "environment")
        print(f"wheel {wheel.name}: {wheel.stat().st_size / MB:.1f} MB")
        print(f"packages of the environment: {sum(sizes.values()) / MB:.0f} MB, without pip")
        for name, size in list(sizes.items())[:LARGEST]:
            print(f"  {name:<24}{size / MB:8.1f} MB")
        for module in PACKAGES:
            first, later = (import_ms(python, module, first=first) for first in (True, False))
            print(f"import {module:<24} {later:6.1f} ms, the first time {first:6.1f} ms")


if __name__ == "__main__":
    main()
