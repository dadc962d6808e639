"""A server of the web page as a process of its own, and what happened in a browser that looked at it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.browser.opened import Opened

__all__ = ["idle", "state", "viewing", "visited"]

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
            server.communicate(timeout=30)


@contextmanager
def visited(browser: Any, url: str, place: str = "#/timeline", **options: Any) -> Iterator[Opened]:
    """Open a place of the page; requests to other origins and errors of the console are kept."""
    context = browser.new_context(viewport={"width": 1280, "height": 860}, reduced_motion="reduce", **options)
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
    page.goto(url)
    page.wait_for_function(_READY, timeout=120_000)
    page.evaluate("place => { location.hash = place }", place)
    if place.startswith("#/timeline"):
        idle(found)
    yield found
    context.close()


def idle(found: Opened) -> None:
    """Wait until the timeline is drawn and waits for nothing."""
    found.page.wait_for_function(_IDLE, timeout=60_000)


def state(found: Opened) -> dict[str, Any]:
    """What the timeline tells tests, once it waits for nothing."""
    idle(found)
    told = found.page.evaluate("() => window.__ascendSn.timeline()")
    assert isinstance(told, dict)
    return told
