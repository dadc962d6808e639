"""A report in a browser, and what happened while it was open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["PATIENCE_MS", "Opened", "opened"]

PATIENCE_MS = 120_000
"""How long anything is waited for: far longer than it takes on a machine that does much else meanwhile."""


@dataclass
class Opened:
    """The page, errors that it told, what it asked for beyond itself, and what was not answered yet."""

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)

    def refuse(self, dialog: Any) -> None:
        """A report asks nothing of its reader: a dialog is an error."""
        self.errors.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@contextmanager
def opened(browser: Any, path: Path, **options: Any) -> Iterator[Opened]:
    """Open a file with the network off."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900}, **options)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    found = Opened(page)
    address = path.resolve().as_uri()
    page.on("console", lambda said: found.errors.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: found.errors.append(str(error)))
    page.on("dialog", found.refuse)
    page.on("request", lambda request: found.requests.append(request.url) if request.url != address else None)
    page.goto(address)
    page.wait_for_load_state("load")
    yield found
    context.close()
