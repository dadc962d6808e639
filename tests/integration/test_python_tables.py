"""Results in Python: Arrow without any other package, pandas, polars and pyarrow where installed, notebooks."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import nanoarrow as na
import nbformat
import pandas
import polars
import pyarrow
import pytest
from nbclient import NotebookClient

import ascend_sn as sn
from ascend_sn.cli import main as cli
from ascend_sn.report.documents.as_json import analyze_schema
from ascend_sn.report.documents.run import Document
from ascend_sn.report.html.notebook import run_html
from tests.unit.report.drawn import drawn_document, nothing, two_ranks

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


def test_a_run_in_a_notebook_shows_where_its_step_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_SN_LANG", "en")
    html = run_html(two_ranks())

    # Rank 0 computes 5 of 10 ns, rank 1 7; 3 and 1 are exposed communication, 2 and 2 free.
    widths = {
        colour: [float(width) for width in re.findall(rf'<rect fill="{colour}"[^>]* width="([0-9.]+)"', html)]
        for colour in ("#0072b2", "#d55e00", "#d5d8dc")
    }
    unit = widths["#0072b2"][0] / 5
    assert {colour: [round(width / unit, 2) for width in found] for colour, found in widths.items()} == {
        "#0072b2": [5, 7],
        "#d55e00": [3, 1],
        "#d5d8dc": [2, 2],
    }
    assert "<td>5.00 ns 50 %</td>" in html.replace("<td>5 ns", "<td>5.00 ns")
    assert "<th>exposed comm</th>" in html


def test_it_is_static_and_needs_no_style_sheet() -> None:
    html = run_html(two_ranks())

    assert [word for word in ("<script", "<style", "class=", "href", "url(") if word in html] == []
    ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + len("</svg>")])


def test_it_is_in_the_language_of_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_SN_LANG", "zh")

    html = run_html(two_ranks())

    assert [word for word in ("暴露通信", "来源", "格式", "Step 拆解") if word not in html] == []
    assert set(re.findall(r"<th>([a-z ]+)</th>", html)) == {"rank"}


def test_a_run_in_a_notebook_is_escaped() -> None:
    drawn = two_ranks()
    drawn.db.execute("update profile set device_name = '<script>x</script>', source = chr(27) || '[2J' where rank = 0")

    html = run_html(drawn)

    assert "<script" not in html
    assert "&lt;script&gt;x&lt;/script&gt;" in html
    assert "\x1b" not in html


def test_a_run_without_device_work_shows_what_it_is() -> None:
    html = run_html(nothing())

    assert "<svg" not in html
    assert html.count("<tr>") == 2


def test_an_opened_run_shows_itself(run: sn.Run) -> None:
    html = run._repr_html_()

    assert html is not None
    assert "<svg" in html
    assert type(run)(run.path, run.input)._repr_html_() is None  # opened for the program itself


def test_a_report_in_a_notebook_is_escaped() -> None:
    document: Document = drawn_document()
    document.input = "<img src=x onerror=alert(1)>"
    document.verdict[0].text = "a < b & <b>c</b>"

    html = document._repr_html_()

    assert "<img" not in html
    assert "a &lt; b &amp; &lt;b&gt;c&lt;/b&gt;" in html
    assert "<svg" in html


def test_the_document_is_that_of_the_command_line(run: sn.Run, capsys: pytest.CaptureFixture[str]) -> None:
    document = sn.analyze(run, language="en")
    with pytest.raises(SystemExit):
        cli.main(["analyze", str(run.input.paths[0]), "--format", "json", "--lang", "en"])
    written = json.loads(capsys.readouterr().out)

    assert isinstance(document, sn.Document)
    shown = json.loads(document.json())
    jsonschema.validate(shown, analyze_schema())
    assert shown == written


def test_its_reports_are_in_its_language(run: sn.Run) -> None:
    document = sn.analyze(run, top_k=1, advice=False, language="zh")

    assert "# " in document.markdown()
    assert "关键路径" in document.markdown()
    assert document.html().startswith("<!doctype html>")
    assert len(document.operators.operators) == 1
    assert document.findings.state == "not_requested"


def test_the_example_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ":".join(path for path in sys.path if path))
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    kept = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]

    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()

    shown = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    assert any("text/html" in output.get("data", {}) for outputs in shown for output in outputs)
    assert [output for outputs in kept for output in outputs] == []
