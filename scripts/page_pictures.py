"""Take a picture of every page and tab of the web page, light and dark, in both languages, to be looked at.

    python -m scripts.page_pictures FOLDER RUN [RUN2]
    python -m scripts.page_pictures FOLDER RUN --only health,memory --languages zh --themes dark

FOLDER lies outside the repository: the pictures are for the eye, not to be kept. With two runs only what compares them
is taken. Errors of the console, requests to other origins and anything that is wider than the window are printed.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

__all__ = ["COMPARED", "PLACES", "SETTLED", "TABS", "take"]

TABS: Final = (
    "kernel_types", "shapes", "operators", "kernels", "slow_instances", "fusion", "roofline", "call_paths",
    "modules", "copies", "host_calls", "launches", "requests",
)  # fmt: skip
"""Tabs of the page Operators."""

PLACES: Final = {
    "overview": "#/overview",
    "timeline": "#/timeline",
    **{f"operators-{tab}": f"#/operators?tab={tab}" for tab in TABS},
    "operators-self": "#/operators?tab=call_paths&measure=self",
    "communication": "#/communication",
    "memory": "#/memory",
    "findings": "#/findings",
    "health": "#/health",
}
"""Every page and tab of one run, by the name of its picture."""

COMPARED: Final = {
    "compare": "#/compare",
    "compare-calls": "#/compare?tab=calls",
    "compare-fused": "#/compare?tab=fused",
    "compare-timeline": "#/timeline?compare=1",
}
"""The same of two runs."""

_SCROLLED: Final = """
    async () => {
      for (let at = 0; at < document.body.scrollHeight; at += 500) {
        scrollTo(0, at);
        await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
      }
      scrollTo(0, 0);
    }
"""
SETTLED: Final = """
    () => {
      const missing = [...document.querySelectorAll('.pending, .table-place, .loading, [aria-busy=true]')]
        .filter(one => !one.closest('details:not([open])'));
      missing[0]?.scrollIntoView();
      return !!document.querySelector('main h1, main h2') && missing.length === 0;
    }
"""
"""Whether a page has all that it asks for; what is still to come is brought into sight: only then it is asked for."""

_WIDER: Final = "() => document.documentElement.scrollWidth > innerWidth"


def take(browser: Any, url: str, places: dict[str, str], folder: Path, language: str, theme: str) -> list[str]:
    """Take the pictures of places as `NAME-LANGUAGE-THEME.png`; returns what was wrong, a line each."""
    from tests.browser.viewing import await_that, idle, visited

    wrong: list[str] = []
    locale = {"en": "en-US", "zh": "zh-CN"}[language]
    with visited(browser, url, "#/overview", locale=locale, color_scheme=theme) as found:
        for name, place in places.items():
            found.page.evaluate("place => { location.hash = place }", place)
            if place.startswith("#/timeline"):
                idle(found)
            else:
                page = place.removeprefix("#/").partition("?")[0]
                await_that(found, "page => window.__ascendSn.route().page === page", page)
                await_that(found, SETTLED)
                for _ in range(2):
                    found.page.evaluate(_SCROLLED)
                    await_that(found, SETTLED)
                found.page.evaluate("() => scrollTo(0, 0)")
                found.page.wait_for_timeout(600)  # charts grow into their place
            if found.page.evaluate(_WIDER):
                wrong.append(f"{name} {language}: wider than the window")
            found.page.screenshot(path=folder / f"{name}-{language}-{theme}.png", full_page=True)
        wrong += [f"{language} {theme}: {error}" for error in [*found.errors, *found.requests]]
    return wrong


def main() -> None:
    from playwright.sync_api import sync_playwright

    from tests.browser.viewing import viewing

    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("folder", type=Path)
    words.add_argument("runs", type=Path, nargs="+")
    words.add_argument("--only", default="", help="names of pictures, or how they begin, by commas")
    words.add_argument("--languages", default="en,zh")
    words.add_argument("--themes", default="light,dark")
    said = words.parse_args()
    said.folder.mkdir(parents=True, exist_ok=True)
    begins = tuple(said.only.split(",")) if said.only else ("",)
    places = {name: at for name, at in (COMPARED if len(said.runs) > 1 else PLACES).items() if name.startswith(begins)}
    with (
        tempfile.TemporaryDirectory() as cache,
        viewing(Path(cache), *said.runs) as url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        for language in said.languages.split(","):
            for theme in said.themes.split(","):
                for line in take(browser, url, places, said.folder, language, theme):
                    print(line)
        browser.close()


if __name__ == "__main__":
    main()
