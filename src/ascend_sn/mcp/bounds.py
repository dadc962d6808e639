"""Answers of bounded size: rows and characters are capped, and the answer says so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final

import msgspec

__all__ = ["CHARACTERS", "DEFAULT_ROWS", "MOST_ROWS", "answer", "table"]

CHARACTERS: Final = 20_000
"""Length of an answer, as JSON."""

DEFAULT_ROWS: Final = 20
MOST_ROWS: Final = 200
_TEXT: Final = 1_000
_SHORTER_TEXTS: Final = (300, 100, 40)
_TEXT_OF_A_PLACE: Final = 100
_LARGE_SHARE: Final = 8
"""A list is worth shortening where it is an eighth of the answer."""

_CUT: Final = re.compile(r"… \((\d+) characters\)\Z")


def table(rows: Iterable[Any], limit: int, *, row_count: int | None = None) -> dict[str, Any]:
    """Return the first rows with how many there are.

    Args:
        rows: Rows, as structs or dicts.
        limit: Rows that are wanted; at most `MOST_ROWS` are given.
        row_count: How many there are in all; counted where it is not known.
    """
    capped = max(1, min(limit, MOST_ROWS))
    remaining = iter(rows)
    shown = msgspec.to_builtins(list(islice(remaining, capped)), enc_hook=str)
    if row_count is None:
        row_count = len(shown) + sum(1 for _ in remaining)
    return {"row_count": row_count, "shown_count": len(shown), "rows": shown}


def answer(content: dict[str, Any]) -> str:
    """Return an answer as JSON text of at most `CHARACTERS`.

    Long texts are cut first; then the longest list of the answer loses its last rows, again and again. Where no list
    of several rows is what makes it long, texts are cut shorter; what is too long even then loses its last fields.
    `shortened` says all of this.
    """
    kept = _cut(msgspec.to_builtins(content, enc_hook=str), _TEXT)
    widths = iter(_SHORTER_TEXTS)
    lost = _Lost()
    while len(text := _encoded(kept, lost)) > CHARACTERS:
        path, longest = max(_lists(kept, ""), key=lambda one: len(_json(one[1])), default=("", []))
        if len(_json(longest)) * _LARGE_SHARE < len(text):
            longest = []
        width = next(widths, None) if len(longest) < 2 else None
        if width is not None:
            kept, lost.text_length = _cut(kept, width), width
        elif longest:
            spare = max(1, len(longest) // 4)
            del longest[-spare:]
            lost.rows[path] = lost.rows.get(path, 0) + spare
        else:
            _lose_fields(kept, lost)
    return text


class _Lost(msgspec.Struct):
    """What an answer lacks: length that texts are cut to, rows by list, fields by object; the whole answer is "."."""

    text_length: int | None = None
    rows: dict[str, int] = {}
    fields: dict[str, int] = {}

    def told(self) -> dict[str, Any]:
        parts = {"texts_cut_to": self.text_length, "rows_left_out": self.rows, "fields_left_out": self.fields}
        said = {name: part for name, part in parts.items() if part}
        return {"reason": f"answers have at most {CHARACTERS} characters", **said} if said else {}


def _encoded(content: dict[str, Any], lost: _Lost) -> str:
    told = lost.told()
    return _json({"shortened": told, **content} if told else content)


def _json(content: Any) -> str:
    return msgspec.json.encode(content).decode()


def _lists(value: Any, path: str) -> Sequence[tuple[str, list[Any]]]:
    """Lists of rows in an answer that are not empty, by their place; lists within rows count with their row."""
    if isinstance(value, dict):
        return [found for key, one in value.items() for found in _lists(one, f"{path}.{key}" if path else str(key))]
    return [(path, value)] if isinstance(value, list) and value else []


def _lose_fields(content: dict[str, Any], lost: _Lost) -> None:
    """Take the last quarter of the fields of that object away that makes most of the length."""
    path, chosen = ".", content
    while True:
        inner = [(key, one) for key, one in chosen.items() if isinstance(one, dict) and one]
        key, largest = max(inner, key=lambda pair: len(_json(pair[1])), default=("", {}))
        if 2 * len(_json(largest)) < len(_json(chosen)):
            break
        path, chosen = key if path == "." else f"{path}.{key}", largest
    path = _cut(path, _TEXT_OF_A_PLACE)
    gone = list(chosen)[-max(1, len(chosen) // 4) :]
    for name in gone:
        del chosen[name]
    lost.fields[path] = lost.fields.get(path, 0) + len(gone)


def _cut(value: Any, width: int) -> Any:
    if isinstance(value, str):
        if len(value) <= width:
            return value
        before = _CUT.search(value)
        whole = len(value) if before is None else int(before[1])
        return f"{value[:width]}… ({whole} characters)"
    if isinstance(value, dict):
        return {key: _cut(one, width) for key, one in value.items()}
    if isinstance(value, list):
        return [_cut(one, width) for one in value]
    return value
