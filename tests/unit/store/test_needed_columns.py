"""A reader that leaves out what every row needs is refused with one line; one that cannot be loaded, too."""

from __future__ import annotations

import json
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.cli import main as cli
from ascend_sn.errors import FormatError
from ascend_sn.formats.reader import Candidate, Reader, Source
from ascend_sn.formats.registry import ENTRY_POINT_GROUP, Readers
from ascend_sn.model.capture import Capture, ProfileHeader
from ascend_sn.model.rows import conform
from ascend_sn.model.tables import BY_NAME, TABLES
from ascend_sn.store import open_run

NEEDED = [(table.name, column) for table in TABLES for column in table.needed]
TEXTS = {"kind": "compute", "origin": "mark", "op": "allreduce", "component": "host", "name": "a"}
"""Texts of the columns that a reader gives; numbers count from 0."""


def given(table: str, **other: Any) -> dict[str, Any]:
    """Two rows of a table with all that a reader has to give, and what a test says otherwise."""
    columns: dict[str, Any] = {name: TEXTS.get(name, [0, 1]) for name in BY_NAME[table].needed}
    return {**columns, **other}


def only_reader(monkeypatch: pytest.MonkeyPatch, tables: dict[str, dict[str, Any]]) -> None:
    """Make a reader that gives these tables the only one there is."""

    def read(source: Source) -> list[Capture]:
        header = ProfileHeader(format="night", source=source.name, device_kind="npu", rank=0)
        rows = {name: conform(BY_NAME[name], 2, **columns) for name, columns in tables.items()}
        return [Capture(header, tables=rows)]

    reader = Reader("night", is_night, lambda path: [path], read)
    monkeypatch.setattr("ascend_sn.formats.discover.readers", lambda: (reader,))


def is_night(candidate: Candidate) -> bool:
    return candidate.head.startswith(b"night")


@pytest.fixture
def night(tmp_path: Path) -> Path:
    """A file of the reader."""
    path = tmp_path / "night.ticks"
    path.write_bytes(b"night")
    return path


@pytest.mark.parametrize(("table", "column"), NEEDED)
def test_what_every_row_needs_cannot_be_left_out(
    table: str, column: str, night: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_reader(monkeypatch, {table: given(table, **{column: None})})

    with pytest.raises(FormatError) as caught:
        open_run(night, cache_dir=tmp_path / "cache")

    assert str(caught.value) == f"{night}: the reader 'night' leaves out {table}.{column} in every row"


def test_rows_in_which_it_lacks_are_counted(night: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only_reader(monkeypatch, {"step": given("step", origin=["mark", None])})

    with pytest.raises(FormatError, match=r"leaves out step\.origin in 1 of 2 rows$"):
        open_run(night, cache_dir=tmp_path / "cache")


@pytest.mark.parametrize("command", ["doctor", "analyze"])
def test_the_command_line_says_it_in_one_line(
    command: str, night: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    only_reader(monkeypatch, {"step": given("step", step_id=None)})

    with pytest.raises(SystemExit) as ended:
        cli.main([command, str(night), "--lang", "en", "--cache-dir", str(tmp_path / "cache")])

    assert ended.value.code == FormatError.exit_code
    assert capsys.readouterr().err == f"ascend-sn: {night}: the reader 'night' leaves out step.step_id in every row\n"


@pytest.mark.parametrize("left_out", [table.name for table in TABLES if table.needed])
def test_the_needed_columns_are_enough(
    left_out: str, night: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All tables but one, each with what a reader has to give and nothing else: the document of the run is there."""
    only_reader(
        monkeypatch, {table.name: given(table.name) for table in TABLES if table.needed and table.name != left_out}
    )

    with pytest.raises(SystemExit) as ended:
        cli.main(["analyze", str(night), "--format", "json", "--cache-dir", str(tmp_path / "cache")])

    out, err = capsys.readouterr()
    assert ended.value.code == 0, err
    steps = json.loads(out)["steps"]
    assert steps["collected"] is (left_out != "step")


SHY = "class Shy(Exception):\n    def __str__(self):\n        raise SystemExit\nraise Shy\n"


def entry_points(monkeypatch: pytest.MonkeyPatch, value: str) -> Readers:
    """The readers, when another package names this one."""
    entry = EntryPoint("night", value, ENTRY_POINT_GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry] if group == ENTRY_POINT_GROUP else [])
    return Readers()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("import no_such_module_of_ours\n", "cannot be imported: No module named 'no_such_module_of_ours'"),
        ("READER = (\n", "cannot be imported: '(' was never closed"),
        ("", "cannot be imported: module 'night_reader' has no attribute 'READER'"),
        ("READER = 1\n", "is no Reader but int"),
        ("READER = int('x')\n", "cannot be imported: invalid literal"),
        ("raise SystemExit(7)\n", "cannot be imported: 7 (SystemExit, night_reader.py line 1)"),
        ("raise GeneratorExit\n", "cannot be imported: GeneratorExit, night_reader.py line 1"),
        ("def f():\n    f()\nf()\n", "cannot be imported: maximum recursion depth exceeded (RecursionError"),
        (SHY, "cannot be imported: Shy, night_reader.py line 4"),
    ],
)
def test_a_reader_that_cannot_be_loaded_is_named(
    text: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "night_reader.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "night_reader", raising=False)
    readers = entry_points(monkeypatch, "night_reader:READER")

    assert all(reader.name != "night" for reader in readers)

    (unusable,) = readers.unusable
    said = str(unusable)
    assert said.startswith(f"the reader 'night' of {ENTRY_POINT_GROUP} (night_reader:READER) {problem}")
    assert said.endswith("repair or uninstall its package")
    assert "\n" not in said
