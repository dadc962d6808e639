from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from ascend_sn._native import _core

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def build() -> ModuleType:
    """The build hook, which is a script beside the package."""
    pytest.importorskip("hatchling", reason="the build backend is not installed here")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_compiled_core_belongs_to_the_present_sources(build: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (ROOT / build.CORE).samefile(_core.__file__):
        pytest.skip("the core in use was not compiled in this tree")
    monkeypatch.delenv("CFLAGS", raising=False)
    folder = ROOT / build.SOURCES
    expected = build.source_hash(sorted(folder.glob("*.c")) + sorted(folder.glob("*.h")))

    assert expected == _core.SOURCES, "run `python hatch_build.py`"


def test_missing_headers_are_named_with_the_package_that_has_them(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build.sysconfig, "get_paths", lambda: {"include": str(tmp_path)})

    with pytest.raises(build.CannotCompileError, match=r"Python\.h is missing.*python3-dev"):
        build.compile_core(tmp_path)


def test_without_a_compiler_zig_is_asked_for(build: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda name: None)

    assert build.installed_compiler() is None
    with pytest.raises(build.CannotCompileError, match="ziglang"):
        build.compiler()


def test_the_variable_cc_has_the_first_word(build: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "env -i")

    assert build.installed_compiler() == ["env", "-i"]


def test_message_catalogues_are_compiled(build: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("babel", reason="the build's catalogue compiler is not installed here")
    folder = tmp_path / build.LOCALES / "zh" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n\n'
    (folder / "report.po").write_text(header + 'msgid "step"\nmsgstr "步"\n', encoding="utf-8")

    (compiled,) = build.compile_catalogues(tmp_path)

    assert compiled == folder / "report.mo"
    assert "步".encode() in compiled.read_bytes()
