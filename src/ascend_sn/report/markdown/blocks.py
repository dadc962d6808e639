"""What the Markdown report is made of: tables and lists whose cells are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ascend_sn.report.tables.text import TextTable
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import markdown_cell

__all__ = ["bullets", "section_lines", "table", "table_lines"]


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], language: Language) -> list[str]:
    """Return a table; a column is a word of the family `column`, or a whole message id."""
    return _table([language.text(name if "." in name else f"column.{name}") for name in columns], rows)


def section_lines(tables: Iterable[TextTable | None]) -> list[str]:
    """Return tables below headings of the third level; absent ones are left out."""
    lines = []
    for one in tables:
        if one is not None:
            lines += ["", f"### {markdown_cell(one.title)}", "", *table_lines(one)]
    return lines


def table_lines(one: TextTable) -> list[str]:
    """Return a table with its note and remarks, without its title."""
    note = [markdown_cell(one.note), ""] if one.note else []
    remarks = ["", *bullets(one.remarks)] if one.remarks else []
    return [*note, *(_table(one.columns, one.rows) if one.rows else []), *remarks]


def bullets(texts: Iterable[str]) -> list[str]:
    """Return a list."""
    return [f"- {markdown_cell(text)}" for text in texts]


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        _row(headings),
        "|" + "|".join([" --- ", *(" ---: " for _ in headings[1:])]) + "|",
        *(_row(row) for row in rows),
    ]


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(markdown_cell(cell) for cell in cells) + " |"
