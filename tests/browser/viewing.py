"""A server of the web page as a process of its own, and what happened in a browser that looked at it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import TimeoutError

from tests.browser.opened import PATIENCE_MS, Opened

__all__ = ["await_that", "idle", "in_sight", "state", "viewing", "visited"]

_READY = "() => window.__ascendSn?.session?.()?.runs.every(run => run.state === 'ready')"
_IDLE = "() => { const now = window.__ascendSn?.timeline?.(); return !!now && now.frames > 0 && !now.busy; }"


@contextmanager
def viewing(cache: Path, *runs: Path) -> Iterator[str]:
    """Serve runs; yields the address with the token."""
    words = ["view", "--no-browser", "--format", "json", "--cache-dir", str(cache), *map(str, runs)]
    with subprocess.Popen(
        [sys.executable, "-m", "ascend_sn.cli.main", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            assert server.stderr is not None
            said = server.stdout.readline()
            assert said, server.stderr.read()
            yield str(json.loads(said)["url"])
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=PATIENCE_MS / 1000)


@contextmanager
def visited(browser: Any, url: str, place: str = "#/timeline", **options: Any) -> Iterator[Opened]:
    """Open a place of the page; requests to other origins and errors of the console are kept."""
    context = browser.new_context(viewport={"width": 1280, "height": 860}, reduced_motion="reduce", **options)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    found = Opened(page)
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    page.on("console", lambda said: found.errors.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: found.errors.append(str(error)))
    page.on("dialog", found.refuse)
    page.on(
        "request",
        lambda request: found.requests.append(request.url) if not request.url.startswith((origin, "blob:")) else None,
    )
    page.on("request", lambda request: found.unanswered.append(request.url))
    for ended in ("requestfinished", "requestfailed"):
        page.on(ended, lambda request: found.unanswered.remove(request.url))
    try:
        page.goto(url)
        await_that(found, _READY)
        page.evaluate("place => { location.hash = place }", place)
        if place.startswith("#/timeline"):
            idle(found)
        yield found
    finally:
        context.close()


def await_that(found: Opened, condition: str, arg: object = None) -> None:
    """Wait until a condition in JavaScript holds; where it never does, say what the page shows and still waits for.

    It is asked in intervals and not with every frame: a page that draws nothing may have no frames.
    """
    try:
        found.page.wait_for_function(condition, arg=arg, timeout=PATIENCE_MS, polling=50)
    except TimeoutError as error:
        shows = found.page.evaluate("() => document.querySelector('main')?.innerText?.slice(0, 600)")
        place = found.page.url.partition("#")[2]
        pytest.fail(
            f"{condition.strip()} ({arg}): never within {PATIENCE_MS / 1000:g} s at {place}; "
            f"unanswered: {found.unanswered}; errors: {found.errors}; the page shows: {shows!r}; ({error})"
        )


def in_sight(found: Opened, card: str, selector: str) -> None:
    """Bring the card of a heading into sight until something in it is there: what comes above moves it out again."""
    await_that(
        found,
        """
        ([heading, selector]) => {
          const one = [...document.querySelectorAll('section.card')]
            .find(card => card.querySelector('h2')?.textContent.trim().startsWith(heading));
          if (one?.querySelector(selector)) return true;
          one?.scrollIntoView();
          return false;
        }
        """,
        [card, selector],
    )


def until(page: Any, holds: Callable[[], bool]) -> None:
    """Wait until something holds here, while the page and what it asks for go on."""
    for _ in range(PATIENCE_MS // 10):
        if holds():
            return
        page.wait_for_timeout(10)
    pytest.fail(f"never within {PATIENCE_MS / 1000:g} s at {page.url.partition('#')[2]}")


def idle(found: Opened) -> None:
    """Wait until the timeline is drawn and waits for nothing."""
    await_that(found, _IDLE)


def state(found: Opened) -> dict[str, Any]:
    """What the timeline tells tests, once it waits for nothing."""
    idle(found)
    told = found.page.evaluate("() => window.__ascendSn.timeline()")
    assert isinstance(told, dict)
    return told
