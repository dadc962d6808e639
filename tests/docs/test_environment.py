"""The page of environment variables names what the code reads, and nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.blocks import REPOSITORY

PAGE = (REPOSITORY / "docs" / "reference" / "environment.md").read_text(encoding="utf-8")
READING = (
    *sorted((REPOSITORY / "src").rglob("*.py")),
    REPOSITORY / "hatch_build.py",
    REPOSITORY / "tests" / "conftest.py",
    REPOSITORY / "tests" / "shared_data.py",
)
_NAME = re.compile(r"[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)*")
_OTHERS = {
    *("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LANGUAGE", "XDG_CONFIG_HOME"),  # of libraries: set or cleared by the tests
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "ASCEND_SN_WEB_OUT", "PYTHONSAFEPATH"),  # set for a program that is started
    "AF_UNIX",
}


def test_every_variable_that_the_code_reads_is_on_the_page() -> None:
    missing = {name: place for path in READING for name, place in _read_by(path) if f"`{name}`" not in PAGE}

    assert missing == {}


def test_every_variable_of_the_page_is_read_somewhere() -> None:
    places = (*READING, REPOSITORY / "Makefile", REPOSITORY / "scripts" / "find-python.sh")
    sources = " ".join(path.read_text(encoding="utf-8") for path in places)

    told = {name for name in re.findall(r"`([A-Z0-9_]+)`", PAGE) if _NAME.fullmatch(name)}

    assert {name for name in told if not re.search(rf"\b{name}\b", sources)} == set()


def test_every_switch_of_the_start_up_file_is_on_the_page() -> None:
    startup = (REPOSITORY / "src" / "ascend_sn_startup.pth").read_text(encoding="utf-8")

    switches = re.findall(r'"([A-Z_]+[A-Z])"', startup)  # the prefix of all variables ends in a line

    assert len(switches) == 5
    assert [name for name in switches if f"`{name}`" not in PAGE] == []


def _read_by(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the names written in capitals in a module that looks at its environment, with their places.

    Placeholders of options and lists of public names are left out. Names may not be put together from parts, which
    nobody could find.
    """
    text = path.read_text(encoding="utf-8")
    if not re.search(r"\b(environ|getenv)\b", text):
        return
    tree = ast.parse(text)
    other = {id(inner) for node in ast.walk(tree) if _holds_other_names(node) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.Constant) and id(node) not in other else None
        if isinstance(value, str) and _NAME.fullmatch(value) and value not in _OTHERS:
            yield value, f"{path.relative_to(REPOSITORY)}:{getattr(node, 'lineno', 0)}"


def _holds_other_names(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg == "metavar"
    return isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]
