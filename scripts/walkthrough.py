"""Walk through the web page as the tutorial `why-the-ranks-wait` does, and take its pictures.

    python -m scripts.walkthrough SAMPLE [FOLDER]

SAMPLE is the capture of the two ranks, FOLDER where the pictures go (docs/tutorials/pictures). They are not kept in the
repository; a documentation built without them shows their descriptions.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from scripts.page_pictures import SETTLED

__all__ = ["NAME", "STEPS", "Step", "walk"]

NAME: Final = "why-the-ranks-wait"
PICTURES: Final = Path(__file__).parents[1] / "docs" / "tutorials" / "pictures"

PATIENCE_MS: Final = 120_000
_QUIET: Final = "() => { const now = window.__ascendSn?.timeline?.(); return !!now && now.frames > 0 && !now.busy; }"
_READY: Final = "() => window.__ascendSn?.session?.()?.runs.every(run => run.state === 'ready')"

Step = Callable[[Any], str]
"""Does what a step of the tutorial says, on the page as the step before left it; returns what is to be read there."""


def _verdict(page: Any) -> str:
    page.wait_for_function(_READY)
    page.locator(".verdict h1").wait_for()
    return str(page.locator(".verdict").inner_text())


def _finding(page: Any) -> str:
    page.locator(".first a.finding-title").first.click()
    card = page.locator("main article, main section.card, main .card", has_text="R-COMM-0").first
    card.wait_for()
    return str(card.inner_text())


def _timeline(page: Any) -> str:
    link = page.locator("main a", has_text="Show on timeline").first
    address = link.get_attribute("href")  # the page soon makes it one of what is shown
    link.click()
    page.wait_for_function(_QUIET)
    return str(address)


def _first_call(page: Any) -> Any:
    """The longest call: the first row of the list of calls."""
    return page.locator("main tbody tr", has=page.locator("button", has_text="Ranks")).first


def _calls(page: Any) -> str:
    page.evaluate("location.hash = '#/communication'")
    _first_call(page).locator("button").wait_for()
    _first_call(page).locator("button").scroll_into_view_if_needed()
    return str(_first_call(page).inner_text())


def _ranks(page: Any) -> str:
    before = page.locator("main").inner_text()
    _first_call(page).locator("button").click()
    page.wait_for_function("before => document.querySelector('main').innerText !== before", arg=before)
    page.mouse.wheel(0, 500)
    return str(page.locator("main").inner_text())


def _call(page: Any) -> str:
    _first_call(page).locator("a").last.click()
    page.wait_for_function(_QUIET)
    page.wait_for_function("() => !!window.__ascendSn.timeline().pick")
    page.locator("[role=tabpanel]").first.wait_for()
    return f"{page.evaluate(_CHOSEN)} {page.locator('[role=tabpanel]').first.inner_text()}"


def _other_rank(page: Any) -> str:
    page.locator("[role=tabpanel]").locator("a, button", has_text="hcom_allReduce").last.click()
    page.wait_for_function("() => window.__ascendSn.timeline().pick?.ref.profile_id === 1")
    page.wait_for_function(_QUIET)
    return str(page.evaluate(_CHOSEN))


def _health(page: Any) -> str:
    page.evaluate("location.hash = '#/health'")
    page.locator("main h1, main h2").first.wait_for()
    page.wait_for_function(SETTLED)
    return str(page.locator("main").inner_text())


_CHOSEN: Final = """
    () => { const {ref} = window.__ascendSn.timeline().pick; return `rank ${ref.profile_id}: ${ref.dur} ns`; }
"""

STEPS: Final[tuple[Step, ...]] = (_verdict, _finding, _timeline, _calls, _ranks, _call, _other_rank, _health)
"""In order; picture n is taken after step n."""


def walk(browser: Any, url: str, folder: Path) -> list[str]:
    """Take a picture after each step; returns what is to be read after each."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce", locale="en-US")
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(url)
    said = []
    for number, step in enumerate(STEPS, 1):
        said.append(step(page))
        page.screenshot(path=folder / f"{NAME}-{number}.png")
    context.close()
    return said


def main() -> None:
    from playwright.sync_api import sync_playwright

    from tests.browser.viewing import viewing

    sample = Path(sys.argv[1])
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    program = shutil.which("chromium") or shutil.which("google-chrome")
    words = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with (
        tempfile.TemporaryDirectory() as cache,
        viewing(Path(cache), sample) as url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=program, args=words)
        walk(browser, url, folder)
        browser.close()
    print(f"{len(STEPS)} pictures in {folder}")


if __name__ == "__main__":
    main()
