"""A real Chromium without network. Where it cannot be had the tests fail with that reason."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.opened import PATIENCE_MS
from tests.browser.viewing import viewing
from tests.shared_data import shared_path

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder drives a browser, and runs with `make browser`."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium() -> Iterator[object]:
    from playwright.sync_api import expect, sync_playwright

    program = next((found for found in map(shutil.which, PROGRAMS) if found), None)
    if program is None:
        pytest.fail("no Chromium is installed: scripts/install-chromium.sh (Debian, Ubuntu: apt-get install chromium)")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    if not AXE.is_file():
        pytest.fail("axe-core is not installed: python hatch_build.py test")
    return AXE.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def torch_npu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two ranks on NPUs, read and analysed once for all files of tests."""
    with viewing(tmp_path_factory.mktemp("cache"), shared_path("data", "torch_npu", "text", "level1")) as url:
        yield url


@pytest.fixture(scope="session")
def kineto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A rank on a GPU, read and analysed once for all files of tests."""
    with viewing(tmp_path_factory.mktemp("cache"), shared_path("data", "kineto", "nccl_parser_config")) as url:
        yield url
