"""Build hook of the package: compile the native core and the message catalogues.

The core needs a C compiler and Python's headers. Where no compiler is installed, `ziglang` from the package
index takes its place. Both results are written beside their sources, so that an editable install uses them;
the core is compiled again only when its sources or flags have changed. `python hatch_build.py` does the same
by hand.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CORE = Path("src/ascend_sn/_native/_core.abi3.so")
SOURCES = Path("src/ascend_sn/_native/c")
LOCALES = Path("src/ascend_sn/locale")
FLAGS = (
    *("-O3", "-std=c11", "-fwrapv", "-fvisibility=hidden", "-fPIC", "-shared", "-pthread"),
    *("-Wall", "-Wextra", "-D_GNU_SOURCE", "-DPy_LIMITED_API=0x030B0000"),
)
WHEEL_PYTHON = "cp311-abi3"


class NativeBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles what the wheel, or the editable install, holds beside Python files."""

    def dependencies(self) -> list[str]:
        """Name what the build needs besides the build backend."""
        catalogues = ["babel"] if any((Path(self.root) / LOCALES).glob("*/LC_MESSAGES/*.po")) else []
        return catalogues if installed_compiler() else [*catalogues, "ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build in place before the wheel is put together; a source distribution needs nothing."""
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        try:
            compile_core(root)
        except CannotCompileError as reason:
            self.app.abort(str(reason))
        catalogues = compile_catalogues(root)
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"{WHEEL_PYTHON}-{platform}"
        build_data["artifacts"] += [
            CORE.as_posix(),
            *(path.relative_to(root).as_posix() for path in catalogues),
        ]


class CannotCompileError(Exception):
    """The native core cannot be built here; the text says what to install or what the compiler said."""


def compile_core(root: Path) -> bool:
    """Compile the core below `root` if it is missing or older than its sources.

    Returns:
        Whether the compiler ran.
    """
    sources = sorted((root / SOURCES).glob("*.c"))
    state = source_hash(sources + sorted((root / SOURCES).glob("*.h")))
    target = root / CORE
    if target.exists() and state.encode() in target.read_bytes():
        return False
    headers = Path(sysconfig.get_paths()["include"])
    if not (headers / "Python.h").exists():
        raise CannotCompileError(
            f"{headers}/Python.h is missing: install Python's headers "
            "(Debian, Ubuntu: apt-get install python3-dev; openEuler, Fedora: dnf install python3-devel)"
        )
    command = [*compiler(), *FLAGS, *extra_flags(), f'-DASCEND_SN_SOURCES="{state}"', f"-I{headers}"]
    command += map(str, sources)
    scratch = target.with_suffix(f".{os.getpid()}.tmp")
    # Not every linker can optimise across files; the result is then a tenth slower.
    for attempt in ([*command, "-flto"], command):
        done = subprocess.run([*attempt, "-o", str(scratch)], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            scratch.replace(target)
            return True
    scratch.unlink(missing_ok=True)
    raise CannotCompileError(f"{shlex.join(command)} failed:\n{done.stderr}")


def source_hash(files: list[Path]) -> str:
    """Return a text that changes with the sources and flags; the compiled core carries it."""
    digest = hashlib.sha256(" ".join([*FLAGS, *extra_flags()]).encode())
    for path in files:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return f"ascend-sn-core-{digest.hexdigest()}"


def installed_compiler() -> list[str] | None:
    """Return the command of an installed C compiler; the variable CC has the first word."""
    named = shlex.split(os.environ.get("CC", ""))
    for candidate in ([named] if named else []) + [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(candidate[0]):
            return candidate
    return None


def compiler() -> list[str]:
    """Return the command that compiles C, or say what to install."""
    found = installed_compiler()
    if found is not None:
        return found
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise CannotCompileError(
        "no C compiler found: install gcc or clang (Debian, Ubuntu: apt-get install gcc), or the Python package ziglang"
    )


def extra_flags() -> list[str]:
    """Return the flags of the variable CFLAGS, such as sanitizers."""
    return shlex.split(os.environ.get("CFLAGS", ""))


def compile_catalogues(root: Path) -> list[Path]:
    """Compile every `.po` message catalogue to `.mo` beside it and return the compiled files."""
    made = []
    for source in sorted((root / LOCALES).glob("*/LC_MESSAGES/*.po")):
        from babel.messages.mofile import write_mo
        from babel.messages.pofile import read_po

        target = source.with_suffix(".mo")
        if not target.exists() or target.stat().st_mtime_ns < source.stat().st_mtime_ns:
            with source.open("rb") as text, target.open("wb") as compiled:
                write_mo(compiled, read_po(text, locale=source.parts[-3]))
        made.append(target)
    return made


if __name__ == "__main__":
    try:
        compile_core(Path(__file__).parent)
    except CannotCompileError as reason:
        raise SystemExit(str(reason)) from reason
    compile_catalogues(Path(__file__).parent)
