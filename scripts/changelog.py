"""Write CHANGELOG.md: the unreleased changes from the fragments in changes/, above the releases that it holds already.

python scripts/changelog.py                  write the section "Unreleased" anew; the fragments stay
python scripts/changelog.py --release 1.2.0  call that section 1.2.0 of today, and delete the fragments
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

What users notice, newest first. Written by `scripts/changelog.py` from the fragments in [changes](changes/README.md).

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
    """Return the change log with its section of what is not released yet written anew under a title."""
    released = re.search(r"^## (?!Unreleased$)", before, re.MULTILINE)
    rest = "\n" + before[released.start() :] if released else ""
    return HEAD + (section(title, paths) if paths else "## Unreleased\n\nNothing.\n") + rest


def main() -> int:
    paths = fragments(ROOT / "changes")
    before = CHANGELOG.read_text(encoding="utf-8") if CHANGELOG.is_file() else ""
    match sys.argv[1:]:
        case []:
            CHANGELOG.write_text(changelog(before, "Unreleased", paths), encoding="utf-8")
        case ["--release", version] if paths and re.fullmatch(r"\d+(\.\d+)*\w*", version):
            title = f"{version} ({datetime.now(UTC):%Y-%m-%d})"
            CHANGELOG.write_text(changelog(before, title, paths), encoding="utf-8")
            for path in paths:
                path.unlink()
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
