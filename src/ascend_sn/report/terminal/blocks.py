"""What the screen is made of: headings, tables, indented lines, labelled sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ascend_sn.report.tables.text import TextTable
from ascend_sn.report.terminal.wrapping import cell_width, wrapped
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable, shortened
from ascend_sn.report.words.quantities import bytes_text, duration_text, percent_text, rate_text
from ascend_sn.report.words.wording import ranking_text

__all__ = ["INDENT", "Blocks", "known_duration", "known_rate", "known_share", "known_size", "name_text"]

INDENT: Final = 2
_LABEL: Final = 13


class Blocks:
    """Writes to one console in one language, wrapped at `columns`."""

    def __init__(self, language: Language, console: Console, columns: int) -> None:
        self.language, self.console, self.columns = language, console, columns

    def heading(self, title: str, remark: str | None = None, **params: object) -> None:
        """Write the title of a table, with a remark behind it, both message ids."""
        self.noted(title, "" if remark is None else self.language.text(remark, **params))

    def ranking(self, title: str, shown: int, total: int) -> None:
        """Write the title of a ranking, with how many of its rows are shown."""
        self.noted(title, ranking_text(shown, total, self.language))

    def noted(self, title: str, note: str) -> None:
        """Write the title of a table (a message id), with a note behind it (a text)."""
        line = Text(self.language.text(title), style="bold")
        if note:
            line.append("  " + note, style="not bold dim")
        self.console.print(line, soft_wrap=True)

    def absent(self, title: str, text: str) -> None:
        """Say in place of a section why it is not there."""
        self.labelled(title, [text], "bold")

    def labelled(self, label: str, lines: Sequence[str], style: str, *, first_style: str = "not bold") -> None:
        """Write sentences beside a label."""
        heading = self.language.text(label)
        width = max(cell_width(heading), _LABEL) + 2
        for number, line in enumerate(lines):
            for part in wrapped(line, self.columns - width):
                shown = Text().append(heading + " " * (width - cell_width(heading)), style=style)
                shown.append(part, style="not bold" if number else first_style)
                self.console.print(shown, soft_wrap=True)
                heading = ""

    def indented(self, lines: Sequence[str], *, more: int = 0) -> None:
        """Write sentences below a table, and how many more there are."""
        shown = [*lines, self.language.text("more.lines", count=more)] if more > 0 else lines
        for line in shown:
            for part in wrapped(line, self.columns - INDENT):
                self.line(Text(part, style="dim"))

    def line(self, text: Text) -> None:
        """Write a line with the indent of tables."""
        self.console.print(Text(" " * INDENT).append(text), soft_wrap=True)

    def table(self, *columns: str, gap: int = 2) -> Table:
        """Begin a table; the columns are message ids, the first one on the left, `gap` blanks between them."""
        table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim", show_edge=False)
        for number, column in enumerate(columns):
            heading = self.language.text(column) if column else ""
            table.add_column(heading, justify="right" if number and column else "left", no_wrap=True)
        return table

    def text_table(self, found: TextTable) -> None:
        """Write a table that is ready but for its place."""
        line = Text(found.title, style="bold")
        line.append("  " + found.note, style="not bold dim")
        self.console.print(line, soft_wrap=True)
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
        for number, column in enumerate(found.columns):
            table.add_column(column, justify="left" if number == 0 or number in found.left else "right", no_wrap=True)
        for row in found.rows:
            table.add_row(*row)
        self.show(table)
        self.indented(found.remarks)

    def show(self, table: Table) -> None:
        """Write a table."""
        self.console.print(Padding(table, (0, 0, 0, INDENT)))


def name_text(name: str | None, width: int) -> str:
    """A name from the trace, safe to print and no wider than `width`."""
    return shortened(printable(name or "-"), width)


def known_duration(ns: float | None) -> str:
    """A time, or a dash where it is not known."""
    return "-" if ns is None else duration_text(ns)


def known_size(size_bytes: float | None) -> str:
    """A size, or a dash where it is not known."""
    return "-" if size_bytes is None else bytes_text(size_bytes)


def known_rate(bytes_per_s: float | None) -> str:
    """A rate, or a dash where it is not known."""
    return "-" if bytes_per_s is None else rate_text(bytes_per_s)


def known_share(ratio: float | None) -> str:
    """A share, or a dash where it is not known."""
    return "-" if ratio is None else percent_text(ratio)
