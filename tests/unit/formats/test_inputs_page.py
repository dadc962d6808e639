from __future__ import annotations

from pathlib import Path

from ascend_sn.formats.msprof.coverage import coverage_of
from ascend_sn.formats.registry import READERS
from ascend_sn.formats.torch_npu.coverage import Delivery
from ascend_sn.formats.torch_npu.layout import RunInfo
from ascend_sn.model.rows import conform
from ascend_sn.model.tables import BY_NAME

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "inputs.md"

REFUSED = {"mindspore-raw", "torch_npu-raw", "msprof-raw", "pytorch-execution-trace"}
SHOWN_AS = {"torch_npu-trace": "torch_npu-text", "ascend-database": "ascend-db"}


def test_every_reader_has_its_place_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    names = [SHOWN_AS.get(reader.name, reader.name) for reader in READERS if reader.name not in REFUSED]

    assert [name for name in names if f"`{name}" not in page] == []


def test_the_options_of_msprof_are_those_that_a_view_names() -> None:
    page = PAGE.read_text(encoding="utf-8")
    tables = {name: conform(table, 0) for name, table in BY_NAME.items()}

    told = coverage_of(RunInfo(), tables, Delivery(looked_for={}, damaged={}, launches=0))

    options = {word for entry in told for word in entry.turn_on.split() if word.startswith("--")}
    known = {option.split("=")[0] for option in options}
    assert [option for option in sorted(known - {"--output"}) if option not in page] == []
