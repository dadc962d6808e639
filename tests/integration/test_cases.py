"""The field cases: what their truth blocks state, and what the command line says about them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ascend_sn
from ascend_sn.cli.main import main
from tests.integration.case_truth import TRUTHS
from tests.shared_data import requires_shared, shared_path, shared_root

pytestmark = requires_shared

CASES = shared_path("cases")

# What is not there yet, by case and key of the truth block.
UNMEASURED: dict[tuple[str, str], str] = {}

# What is not there yet, by case and command line.
UNSAID: dict[tuple[str, str], str] = {}


def _cases() -> list[Path]:
    return sorted(path for path in CASES.iterdir() if path.is_dir()) if shared_root() is not None else []


def truth_of(case: Path) -> dict[str, Any]:
    """Return the `json truth` block of a case."""
    found = re.search(r"```json truth\n(.*?)```", (case / "expected.md").read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None, f"{case.name} has no truth block"
    truth: dict[str, Any] = json.loads(found[1])
    return truth


def _truths() -> Iterator[Any]:
    for case in _cases():
        for key in truth_of(case):
            reason = UNMEASURED.get((case.name, key))
            marks = () if reason is None else (pytest.mark.notimpl(reason=reason),)
            yield pytest.param(case.name, key, marks=marks, id=f"{case.name.partition('_')[0]}-{key}")


def _checks() -> Iterator[Any]:
    for case in _cases():
        path = case / "checks.json"
        if not path.is_file():
            continue
        for number, run in enumerate(json.loads(path.read_text(encoding="utf-8"))["runs"]):
            said = " ".join(run["command"])
            reason = UNSAID.get((case.name, said))
            marks = () if reason is None else (pytest.mark.notimpl(reason=reason),)
            yield pytest.param(case.name, run, marks=marks, id=f"{case.name.partition('_')[0]}-{number}-{said}")


@pytest.mark.parametrize(("case", "key"), list(_truths()))
def test_a_truth_of_a_case_is_measured(case: str, key: str) -> None:
    if key not in TRUTHS.get(case, {}):
        pytest.fail(f"{case}: no query is known for the truth key {key!r}")
    expected = truth_of(CASES / case)[key]

    measured = TRUTHS[case][key](CASES / case, expected)

    assert measured == _within(expected)


def _within(expected: Any) -> Any:
    """Figures within a thousandth, at any depth."""
    if isinstance(expected, dict):
        return {name: _within(value) for name, value in expected.items()}
    return pytest.approx(expected, rel=1e-3) if isinstance(expected, float) else expected


@pytest.mark.parametrize(("case", "run"), list(_checks()))
def test_the_command_line_says_what_a_good_tool_says(
    case: str, run: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CASES / case)
    monkeypatch.setenv("ASCEND_SN_LANG", "en")
    before = _state(CASES / case)

    with pytest.raises(SystemExit) as ended:
        main(run["command"])

    captured = capsys.readouterr()
    output = captured.out + captured.err
    unsaid = [pattern for pattern in run["say"] if not re.search(pattern, output, re.IGNORECASE)]
    said = [pattern for pattern in run["not_say"] if re.search(pattern, output, re.IGNORECASE)]
    assert (ended.value.code in run["exit"], unsaid, said) == (True, [], []), output
    assert _state(CASES / case) == before, "something was written into the input"


def test_the_fourth_dialect_gives_the_same_kernels() -> None:
    truth = truth_of(CASES / "dv17_csv_drift")

    with ascend_sn.open(CASES / "dv17_csv_drift" / "d_msprof") as run:
        found = run.sql("select count(*), sum(dur_ns) / 1e3 from kernel where kind = 'compute'").fetchall()

    assert found == [(truth["compute_kernels"], truth["compute_sum_us"])]


def test_no_case_and_no_query_is_forgotten() -> None:
    assert {case.name: set(truth_of(case)) for case in _cases()} == {case: set(keys) for case, keys in TRUTHS.items()}


def _state(folder: Path) -> str:
    """Names, times and sizes of everything below a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        digest.update(f"{path.relative_to(folder)} {path.stat().st_mtime_ns} {path.stat().st_size}".encode())
    return digest.hexdigest()
