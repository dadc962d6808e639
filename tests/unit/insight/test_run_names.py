"""What two runs are called that have one folder name."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_sn.insight.runs import distinct_names
from ascend_sn.store.input import Input


@pytest.mark.parametrize(
    ("places", "names"),
    [
        (["before/run", "after/run"], ["before/run", "after/run"]),
        (["x/a/same/run", "x/b/same/run"], ["a/same/run", "b/same/run"]),
        (["before/one", "after/two"], ["one", "two"]),
        (["only/run"], ["run"]),
        (["same/run", "same/run"], ["run", "run"]),
    ],
)
def test_names_are_as_long_as_it_takes(tmp_path: Path, places: list[str], names: list[str]) -> None:
    for place in places:
        (tmp_path / place).mkdir(parents=True, exist_ok=True)

    assert distinct_names([Input.of(tmp_path / place) for place in places]) == names
