"""Results in Python: Arrow without any other package, pandas, polars and pyarrow where installed, notebooks."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import nanoarrow as na
import nbformat
import pandas
import polars
import pyarrow
import pytest
from nbclient import NotebookClient

import ascend_sn as sn
from ascend_sn.report.document import Document
from tests.timeline import insert
from tests.unit.report.drawn import drawn_document, two_ranks

ROOT = Path(__file__).resolve().parents[2]
TRACE = ROOT / "tests" / "golden" / "train_trace" / "v1"
NOTEBOOK = ROOT / "docs" / "tutorials" / "a-run-in-a-notebook.ipynb"


@pytest.fixture
def run(tmp_path: Path) -> sn.Run:
    for name in ("train.trace", "names.trace"):
        shutil.copyfile(TRACE / name, tmp_path / name)
    return sn.open(tmp_path)


def test_every_library_gets_the_same_rows(run: sn.Run) -> None:
    steps = run.sql("select step, dur_ns from step order by step_id")
    expected = [(0, 95000), (1, 70000)]

    assert steps.fetchall() == expected
    assert [tuple(row.values()) for row in na.Array(na.c_array_stream(steps)).to_pylist()] == expected
    assert list(pandas.DataFrame(steps.df()).itertuples(index=False, name=None)) == expected
    assert polars.DataFrame(steps).rows() == steps.pl().rows() == expected
    assert [tuple(row.values()) for row in pyarrow.table(steps).to_pylist()] == expected


def test_an_analysis_is_an_arrow_stream(run: sn.Run) -> None:
    relation = sn.analysis.step_breakdown(run)

    table = pyarrow.table(relation)
    assert table.column_names == relation.columns
    assert table.num_rows == len(relation.fetchall())


@pytest.mark.parametrize(("method", "package"), [("df", "pandas"), ("pl", "polars"), ("arrow", "pyarrow")])
def test_what_is_not_installed_is_named(method: str, package: str) -> None:
    program = f"import sys; sys.modules['{package}'] = None; import duckdb; duckdb.sql('select 1').{method}()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert package in done.stderr.splitlines()[-1]


def test_a_run_in_a_notebook_is_escaped() -> None:
    drawn = two_ranks()
    insert(drawn.db, "damage", profile_id=0, rank=0, file="a", kind="b", severity="damage", count=3)
    drawn.db.execute("update profile set device_name = '<script>x</script>', source = chr(27) || '[2J' where rank = 0")

    html = drawn._repr_html_()

    assert "<script" not in html
    assert "&lt;script&gt;x&lt;/script&gt;" in html
    assert "\x1b" not in html
    assert html.count("<tr>") == 3
    assert "<td>3</td>" in html


def test_a_report_in_a_notebook_is_escaped() -> None:
    document: Document = drawn_document()
    document.input = "<img src=x onerror=alert(1)>"
    document.verdict[0].text = "a < b & <b>c</b>"

    html = document._repr_html_()

    assert "<img" not in html
    assert "a &lt; b &amp; &lt;b&gt;c&lt;/b&gt;" in html
    assert html.count("<th>") == 6


def test_the_example_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ":".join(path for path in sys.path if path))
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    kept = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]

    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()

    shown = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    assert any("text/html" in output.get("data", {}) for outputs in shown for output in outputs)
    assert [output for outputs in kept for output in outputs] == []
