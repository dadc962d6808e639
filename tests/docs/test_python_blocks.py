"""Python in the pages compiles, and every name of ours that it imports exists."""

from __future__ import annotations

import ast
from importlib import import_module

import pytest

from tests.docs.blocks import PAGES, Block, blocks

PYTHON = [block for page in PAGES for block in blocks(page) if block.language in {"python", "py"}]
OURS = ("ascend_sn", "ascend", "asc_tools")


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.place)
def test_imports_of_ours_exist(block: Block) -> None:
    tree = ast.parse(block.text, filename=block.place)

    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in OURS:
            module = import_module(node.module)
            for alias in node.names:
                assert hasattr(module, alias.name), f"{block.place}: {node.module} has no {alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in OURS:
                    import_module(alias.name)
