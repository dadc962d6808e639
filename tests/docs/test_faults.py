"""Every promise of the page about faults names a test that exists, and says of the slow ones that they are."""

from __future__ import annotations

import ast
import re

import pytest

from tests.docs.blocks import REPOSITORY

ROW = re.compile(r"^\|.*`(?P<file>tests/[\w/]+\.py)::(?P<name>test_\w+)`(?P<slow> \(slow\))? \|$")
ROWS = [
    line
    for line in (REPOSITORY / "docs" / "explanation" / "faults.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| fault |"))
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_the_test_of_a_fault_exists(row: str) -> None:
    found = ROW.match(row)
    assert found, "a row ends with the file and the name of one test"

    tests = {
        node.name: [ast.unparse(decorator) for decorator in node.decorator_list]
        for node in ast.parse((REPOSITORY / found["file"]).read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }

    assert found["name"] in tests
    assert ("pytest.mark.slow" in tests[found["name"]]) == bool(found["slow"])
