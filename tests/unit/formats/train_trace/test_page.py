"""The page that defines the format names all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from ascend_sn.formats.train_trace.names import Name
from ascend_sn.model import trace_schema

PAGE: Final = (Path(__file__).parents[4] / "docs" / "reference" / "train-trace.md").read_text(encoding="utf-8")

KINDS: Final = [
    (name, number)
    for name, number in vars(trace_schema).items()
    if name.isupper() and isinstance(number, int) and name not in ("TRACE_VERSION", "NOT_GIVEN", "OPEN_FLAG")
]


@pytest.mark.parametrize(("name", "type_name"), trace_schema.COLUMNS)
def test_every_column_stands_on_the_page_with_its_type(name: str, type_name: str) -> None:
    assert f"| `{name}` | {type_name} |" in PAGE


@pytest.mark.parametrize(("name", "number"), KINDS)
def test_every_kind_stands_on_the_page_with_its_number(name: str, number: int) -> None:
    assert f"| `{name}` | {number} |" in PAGE


def test_every_attribute_and_metadata_key_stands_on_the_page() -> None:
    keys = [*Name.__struct_fields__, *(value for name, value in vars(trace_schema).items() if name.endswith("_KEY"))]

    assert [key for key in keys if f"`{key}`" not in PAGE] == []


def test_a_row_is_as_long_as_the_page_says() -> None:
    widths = {"uint8": 1, "int32": 4, "int64": 8}

    assert f"A row takes {sum(widths[type_name] for _, type_name in trace_schema.COLUMNS)} bytes" in PAGE
