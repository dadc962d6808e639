"""The page of the Profiler names all that is public."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Final

import pytest

from ascend.profiler import Profiler, ProfilerConfig

PAGE: Final = (Path(__file__).parents[3] / "docs" / "reference" / "profiler.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(name for name in vars(Profiler) if not name.startswith("_")))
def test_every_public_name_of_the_profiler_stands_on_the_page(name: str) -> None:
    assert f"`{name}" in PAGE or f"profiler.{name}(" in PAGE


@pytest.mark.parametrize("name", [name for name in inspect.signature(ProfilerConfig).parameters if name != "unknown"])
def test_every_argument_stands_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE


def test_the_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = PAGE.partition("```python\n")[2].partition("```")[0]

    names: dict[str, object] = {}
    exec(code, names)
    profiler = names["profiler"]
    assert isinstance(profiler, Profiler)
    profiler.stop()

    assert (tmp_path / "result" / "train.trace").is_file()
