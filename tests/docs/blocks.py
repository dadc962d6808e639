"""The fenced blocks of a Markdown page, and the commands in them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
READMES = (REPOSITORY / "README.md", REPOSITORY / "README.zh.md")
# Pages made from the code are tested where they are made.
PAGES = (*READMES, REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").rglob("*.md")))

SHELL = {"bash", "sh", "shell", "console"}
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """One fenced block; `line` is the number of its first line of text."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        """Where it stands, for test ids and messages."""
        return f"{self.page.relative_to(REPOSITORY)}:{self.line}"


@dataclass(frozen=True)
class Command:
    """One `ascend-sn` command of a shell block, without redirections and what follows them."""

    place: str
    arguments: tuple[str, ...]

    @property
    def text(self) -> str:
        """The command as one line."""
        return shlex.join(("ascend-sn", *self.arguments))


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, found.start("text")) + 1, found["language"], found["text"])
        for found in FENCE.finditer(text)
    ]


def commands(page: Path) -> list[Command]:
    """Return the `ascend-sn` commands of a page's shell blocks in order; continued lines are joined."""
    return [
        Command(block.place, arguments)
        for block in blocks(page)
        if block.language in SHELL
        for line in block.text.replace("\\\n", " ").splitlines()
        if (arguments := ascend_sn_arguments(line)) is not None
    ]


def ascend_sn_arguments(line: str) -> tuple[str, ...] | None:
    """Return the words after `ascend-sn` up to the end of that command, or None for another command."""
    lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    if not words or words[0] != "ascend-sn":
        return None
    ends = [place for place, word in enumerate(words) if set(word) <= set("();<>|&")]
    return tuple(words[1 : min(ends, default=len(words))])
