"""Run a page as it is written: its titled blocks are files, its shell blocks are commands."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.blocks import REPOSITORY
from tests.integration.demo_repository import shell, shell_environment

__all__ = ["Played", "files_of", "play"]

_BLOCK = re.compile(r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.M | re.S)

Played = list[tuple[str, str]]
"""Each shell block of a page, and what it printed."""


def files_of(page: str) -> dict[str, str]:
    """Return the titled blocks of a page of docs/ by title."""
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    return {found["title"]: found["text"] for found in _BLOCK.finditer(text) if found["title"]}


def play(page: str, folder: Path, site: Path | None = None) -> Played:
    """Write the files of a page into a folder and run its untitled shell blocks there; packages in `site` are found."""
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    for title, content in files_of(page).items():
        (folder / title).write_text(content, encoding="utf-8")
    environment = shell_environment(folder)
    if site is not None:
        environment["PYTHONPATH"] += f":{site}"
    played: Played = []
    for found in _BLOCK.finditer(text):
        if found["language"] != "sh" or found["title"]:
            continue
        done = shell(found["text"], folder, environment)
        assert done.returncode == 0, done.stdout
        played.append((found["text"], done.stdout))
    return played
