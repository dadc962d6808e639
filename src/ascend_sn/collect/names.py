"""Texts of a trace by number: interned once, written to `names.trace` before the rows that use them."""

from __future__ import annotations

from threading import RLock

from ascend_sn.model.trace_schema import NAMES_FORMAT, NOT_GIVEN, TRACE_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MAX_NAMES", "NameTable"]

MAX_NAMES = 200_000
"""Distinct names kept. A program that builds a new name per step must not fill the memory."""

MAX_NAME_LENGTH = 4096


class NameTable:
    """Gives every distinct text (with its attributes) a number, from 0; safe to use from several threads."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._pending: list[bytes] = [_line({"format": NAMES_FORMAT, "version": TRACE_VERSION})]
        self._lock = RLock()  # reentrant: a signal handler may record too
        self.texts: list[str] = []
        self.refused_count = 0

    def number(self, text: str) -> int:
        """Return the number of a text without attributes; `NOT_GIVEN` once the table is full."""
        found = self._numbers.get(text)
        return self._add(text, text, {}) if found is None else found

    def described(self, text: str, attributes: Mapping[str, object]) -> int:
        """Return the number of a text with attributes (op, group, ranks, dtype of a collective)."""
        key = (text, *attributes.items())
        found = self._numbers.get(key)
        return self._add(key, text, attributes) if found is None else found

    def of_framework(self, text: str, category: str, arguments: tuple[tuple[str, str], ...]) -> int:
        """Return the number of a call that a framework's profiler named, with what it says of the call."""
        key = (text, category, arguments)
        found = self._numbers.get(key)
        if found is not None:
            return found
        attributes: dict[str, object] = {"category": category}
        if arguments:
            attributes["args"] = dict(arguments)
        return self._add(key, text, attributes)

    def document(self, text: str) -> int:
        """Return the number of a text of any length, such as JSON; for the few that describe a whole capture."""
        found = self._numbers.get(text)
        return self._add(text, text, {}, limit=None) if found is None else found

    def take_pending(self) -> bytes:
        """Return the records not handed out yet, as whole lines."""
        with self._lock:
            pending, self._pending = self._pending, []
        return b"".join(pending)

    def put_back(self, lines: bytes) -> None:
        """Return records that could not be written, to be handed out again first."""
        with self._lock:
            self._pending.insert(0, lines)

    def _add(
        self, key: object, text: str, attributes: Mapping[str, object], *, limit: int | None = MAX_NAME_LENGTH
    ) -> int:
        text = str(text)[:limit]
        with self._lock:
            found = self._numbers.get(key)
            if found is not None:
                return found
            if len(self._numbers) >= MAX_NAMES:
                self.refused_count += 1
                return NOT_GIVEN
            number = len(self.texts)
            self._pending.append(_line({"id": number, "text": text, **attributes}))
            self.texts.append(text)
            self._numbers[key] = number
        return number


def _line(record: Mapping[str, object]) -> bytes:
    import json  # here: it costs milliseconds at import, and recording starts later

    # A lone surrogate becomes the JSON escape of itself, so any str survives.
    return json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
