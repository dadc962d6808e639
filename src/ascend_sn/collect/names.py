"""Texts of a trace by number: interned once, written to `names.trace` before the rows that use them."""

from __future__ import annotations

from contextlib import suppress
from threading import RLock

from ascend_sn.model.trace_schema import NAMES_FORMAT, NOT_GIVEN, TRACE_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

__all__ = ["MAX_NAMES", "NameTable"]

MAX_NAMES = 200_000
"""Distinct names kept. A program that builds a new name per step must not fill the memory."""

MAX_NAME_LENGTH = 4096


class NameTable:
    """Gives every distinct text (with its attributes) a number, from 0; safe to use from several threads.

    A name that the program uses is written at once, so that the rows of a killed process have theirs.

    Attributes:
        numbers: Numbers of the texts without attributes; the span ring looks into it by itself.
        texts: Texts by number.
        refused_count: Texts that came when the table was full.
    """

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._described: dict[tuple[object, ...], int] = {}
        self._pending: list[bytes] = [_line({"format": NAMES_FORMAT, "version": TRACE_VERSION})]
        self._lock = RLock()  # reentrant: a signal handler may record too
        self._write: Callable[[bytes], None] | None = None
        self._is_writing = False
        self.texts: list[str] = []
        self.refused_count = 0

    def number(self, text: str) -> int:
        """Return the number of a text without attributes; `NOT_GIVEN` once the table is full."""
        found = self.numbers.get(text)
        if found is None:
            found = self._add(self.numbers, text, text, {})
            self._write_now()
        return found

    def known(self, text: str) -> int:
        """Return the number of a text that was numbered before, else `NOT_GIVEN`."""
        return self.numbers.get(text, NOT_GIVEN)

    def described(self, text: str, attributes: Mapping[str, object]) -> int:
        """Return the number of a text with attributes (op, group, ranks, dtype of a collective)."""
        key = (text, *attributes.items())
        found = self._described.get(key)
        if found is None:
            found = self._add(self._described, key, text, attributes)
            self._write_now()
        return found

    def of_framework(self, text: str, category: str, arguments: tuple[tuple[str, str], ...]) -> int:
        """Return the number of a call that a framework's profiler named, with what it says of the call."""
        key = (text, category, arguments)
        found = self._described.get(key)
        if found is not None:
            return found
        attributes: dict[str, object] = {"category": category}
        if arguments:
            attributes["args"] = dict(arguments)
        return self._add(self._described, key, text, attributes)

    def document(self, text: str) -> int:
        """Return the number of a text of any length, such as JSON; for the few that describe a whole capture."""
        found = self.numbers.get(text)
        return self._add(self.numbers, text, text, {}, limit=None) if found is None else found

    def write_to(self, write: Callable[[bytes], None] | None) -> None:
        """Write records with this from now on; None keeps them back."""
        with self._lock:
            self._write = write

    def abandon(self) -> None:
        """Write nothing any more, in a forked child, where the lock of the parent cannot be trusted."""
        self._write = None

    def write_pending(self) -> None:
        """Write the records not written yet.

        Raises:
            OSError: They could not be written; they will be tried again.
        """
        with self._lock:
            if self._write is None or self._is_writing or not self._pending:
                return
            count = len(self._pending)
            self._is_writing = True  # a signal handler that records meanwhile leaves its names for the next time
            try:
                self._write(b"".join(self._pending))
                del self._pending[:count]
            finally:
                self._is_writing = False

    def _write_now(self) -> None:
        with suppress(OSError):  # the thread that writes tries again, and says what is wrong
            self.write_pending()

    def _add(
        self,
        numbers: dict[Any, int],
        key: object,
        text: str,
        attributes: Mapping[str, object],
        *,
        limit: int | None = MAX_NAME_LENGTH,
    ) -> int:
        text = str(text)[:limit]
        with self._lock:
            found = numbers.get(key)
            if found is not None:
                return found
            if len(self.texts) >= MAX_NAMES:
                self.refused_count += 1
                return NOT_GIVEN
            # A signal handler that records may add names between any two of these lines.
            entry, start = _Entry(text), len(self.texts)
            self.texts.append(entry)
            number = next(place for place in range(start, len(self.texts)) if self.texts[place] is entry)
            self._pending.append(_line({"id": number, "text": text, **attributes}))
            return numbers.setdefault(key, number)


class _Entry(str):
    """A text that is one object among equal ones, by which its place is found."""

    __slots__ = ()


def _line(record: Mapping[str, object]) -> bytes:
    import json  # here: it costs milliseconds at import, and recording starts later

    # A lone surrogate becomes the JSON escape of itself, so any str survives.
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
