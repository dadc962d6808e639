"""The change log: releases in CHANGELOG.md, what is not released yet in the fragments of changes/.

python scripts/changelog.py                  print what the fragments make; nothing is written
python scripts/changelog.py --release 1.2.0  put that into CHANGELOG.md as 1.2.0 of today, and delete the fragments
"""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
CHANGELOG = ROOT / "CHANGELOG.md"
KINDS = ("added", "changed", "fixed", "removed")
HEAD = """# Changes

What users notice, newest release first. What is not released yet lies in [changes](changes/README.md), a file for each
change; `python scripts/changelog.py` prints it as one text.
"""


def fragments(folder: Path) -> list[Path]:
    """Return the fragments of a folder, by number."""
    return sorted(
        (path for path in folder.glob("*.md") if path.name != "README.md"),
        key=lambda path: (int(path.name.split(".")[0]), path.name),
    )


def items(fragment: str) -> list[str]:
    """Return the changes that a fragment tells: its paragraphs and the items of its lists, each on one line."""
    parts = re.split(r"\n\s*\n|\n(?=- )", fragment.strip())
    return [" ".join(part.removeprefix("- ").split()) for part in parts if part.strip()]


def section(title: str, paths: list[Path]) -> str:
    """Return a section with the changes of some fragments, grouped by kind."""
    parts = [f"## {title}"]
    for kind in KINDS:
        told = [item for path in paths if path.suffixes[-2] == f".{kind}" for item in items(path.read_text("utf-8"))]
        if told:
            parts += [f"### {kind.capitalize()}", "\n".join(f"- {item}" for item in told)]
    return "\n\n".join(parts) + "\n"


def changelog(before: str, title: str, paths: list[Path]) -> str:
    """Return the change log with a new release, made of some fragments, above those that it holds."""
    released = re.search(r"^## ", before, re.MULTILINE)
    rest = "\n" + before[released.start() :] if released else ""
    return f"{HEAD}\n{section(title, paths)}{rest}"


def main() -> int:
    paths = fragments(ROOT / "changes")
    match sys.argv[1:]:
        case []:
            print(section("Unreleased", paths) if paths else "Nothing.")
        case ["--release", version] if paths and re.fullmatch(r"\d+(\.\d+)*\w*", version):
            title = f"{version} ({datetime.now(UTC):%Y-%m-%d})"
            made = changelog(CHANGELOG.read_text(encoding="utf-8"), title, paths)
            CHANGELOG.write_text(made, encoding="utf-8")
            for path in paths:
                path.unlink()
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
