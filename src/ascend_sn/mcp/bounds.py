"""Answers of bounded size: rows and characters are capped, and the answer says so."""

from __future__ import annotations

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
_SHORTEST_TEXT: Final = 60


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

    Long texts are cut first; then the longest list of the answer loses its last rows, again and again, and
    `shortened` says how many rows each list lost.
    """
    kept = _cut(msgspec.to_builtins(content, enc_hook=str), _TEXT)
    dropped: dict[str, int] = {}
    while len(text := _encoded(kept, dropped)) > CHARACTERS:
        found = max(_lists(kept, ""), key=lambda one: len(_json(one[1])), default=None)
        if found is None:
            return _encoded(_cut(kept, _SHORTEST_TEXT), dropped)[:CHARACTERS]
        path, longest = found
        spare = max(1, len(longest) // 4)
        del longest[-spare:]
        dropped[path] = dropped.get(path, 0) + spare
    return text


def _encoded(content: Any, dropped: dict[str, int]) -> str:
    if dropped:
        content = {"shortened": {"reason": f"answers have at most {CHARACTERS} characters", "rows_left_out": dropped},
                   **content}  # fmt: skip
    return _json(content)


def _json(content: Any) -> str:
    return msgspec.json.encode(content).decode()


def _lists(value: Any, path: str) -> Sequence[tuple[str, list[Any]]]:
    """Lists of rows in an answer that are not empty, by their place; lists within rows count with their row."""
    if isinstance(value, dict):
        return [found for key, one in value.items() for found in _lists(one, f"{path}.{key}" if path else str(key))]
    return [(path, value)] if isinstance(value, list) and value else []


def _cut(value: Any, width: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= width else f"{value[:width]}… ({len(value)} characters)"
    if isinstance(value, dict):
        return {_cut(key, width): _cut(one, width) for key, one in value.items()}
    if isinstance(value, list):
        return [_cut(one, width) for one in value]
    return value
