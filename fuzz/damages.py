"""Named damages of a sound input: what is done to which place of which file, and what must come of it."""

from __future__ import annotations

import csv
import io
import json
import pickle
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final

import msgspec

from fuzz.corpus import Seed
from fuzz.damaged_databases import database_damages
from fuzz.mutate import overwrite

__all__ = ["Damage", "Expected", "Node", "damages"]


class Node(Enum):
    """What lies in the place of a file."""

    FOLDER = "folder"
    FIFO = "pipe"
    LOOP = "loop of links"
    NOWHERE = "link to nothing"
    CLOSED = "file without rights"
    SOCKET = "socket"


class Expected(Enum):
    """What must come of it, besides words in place of a traceback, in bounded time and memory.

    `SAME`: every table of the sound input. `TOLD`: where a table differs from the sound one, data health, the
    coverage, or the refusal says so. `ROWS`: the same where a table has fewer rows. `WORDS`: nothing more; the damaged
    value is one that may be meant, and what is absent is shown as absent.
    """

    SAME = "same"
    TOLD = "told"
    ROWS = "rows"
    WORDS = "words"


class Damage(msgspec.Struct, frozen=True):
    """One damage of one file."""

    kind: str
    file: str
    place: str
    content: bytes | Node | Callable[[], bytes]
    expected: Expected = Expected.TOLD


_BAD_NUMBERS: Final = {
    "text": "x7",
    "huge": "9" * 40,
    "beyond floats": "1e400",
    "Infinity": "Infinity",
    "German": "12,5",
    "hexadecimal": "0x10",
    "other digits": "\u0661\u0662",
    "NUL": "1\x002",
    "underscore": "1_0",
}
_ABSENT_THEN: Final = ("overwritten", "missing table", "view for table", "renamed column", "computed value")
"""Damages of a database that look like another one: what is absent is shown as absent, and no row tells of it."""

_NAMES: Final = ("pid", "tid", "id", "Stream ID", "Stream Ptr", "Type", "Index", "Device", "connection_id")
"""Numbers that are names; any text is one too."""

_DEEP: Final = 100_000
_RAW: Final = "\x01raw\x01"
_BAD_JSON: Final = {
    "text": '"x7"',
    "list": "[]",
    "object": '{"a": 1}',
    "true": "true",
    "NaN": "NaN",
    "Infinity": "-Infinity",
    "beyond floats": "1e400",
    "huge": "9" * 40,
    "deep": "[" * _DEEP + "]" * _DEEP,
    "half a pair": '"\\ud800"',
}
_ODD_JSON: Final = {"null": "null", "negative": "-1", "zero": "0", "large": "1e18", "small": "1e-300"}


def damages(seed: Seed, each: int | None = None) -> Iterator[Damage]:
    """Return damages of every file of an input, at most `each` of one kind and file, spread over its places."""
    for file, content in seed.files.items():
        of_kinds: dict[str, list[Damage]] = {}
        for damage in _of_file(file, content):
            of_kinds.setdefault(damage.kind, []).append(damage)
        for kind, found in of_kinds.items():
            if each is not None and len(found) > each:
                found = sorted(random.Random(f"{file} {kind}").sample(found, each), key=found.index)
            yield from found


def _of_file(file: str, content: bytes) -> Iterator[Damage]:
    for node in Node:
        yield Damage(node.value, file, "", node)
    yield Damage("empty", file, "", b"")
    yield Damage("blank", file, "", b" \n" * 40)
    yield Damage("noise", file, "", random.Random(file).randbytes(5_000))
    yield Damage("zeros", file, "", bytes(5_000))
    for at in _places(content):
        yield Damage("cut", file, f"byte {at}", content[:at], _expected_of_cut(file, content, at))
    if content.startswith(b"SQLite format 3\0"):
        for kind, place, damaged in database_damages(content):
            yield Damage(kind, file, place, damaged, _expected_of_database(kind))
    elif content.startswith((b"\x1f\x8b", b"\x80", b"\xff\xff\xff\xff")) or b"\x00" in content:
        yield from _of_binary(file, content)
    else:
        yield from _of_text(file, content)


def _places(content: bytes) -> list[int]:
    """Places after which a file may end: behind structure in text, anywhere in other files."""
    if b"\x00" in content or content.startswith((b"\x1f\x8b", b"\x80")):
        return sorted({*range(1, len(content), max(1, len(content) // 200)), *range(512, len(content), 512)})
    return [found.end() for found in re.finditer(rb'[][{}",:\n]|[0-9](?=[0-9])', content)][:-1]


def _expected_of_cut(file: str, content: bytes, at: int) -> Expected:
    # Nothing tells that lines are missing at the end of a file of lines.
    whole_line = file.endswith(".csv") and content[at - 1 : at] == b"\n" and at > content.index(b"\n") + 1
    return Expected.WORDS if whole_line else Expected.TOLD


def _expected_of_database(kind: str) -> Expected:
    if kind in _ABSENT_THEN:
        return Expected.WORDS
    return Expected.ROWS if kind.endswith("as value") else Expected.TOLD


def _of_binary(file: str, content: bytes) -> Iterator[Damage]:
    if content.startswith(b"\x80"):
        yield from _of_pickle(file, content)
    if content.startswith(b"\x1f\x8b"):
        yield Damage("noise behind", file, "end", content + b"\x00" * 100 + b"noise")
        yield Damage("wrong sum", file, "end", content[:-8] + b"\xff" * 4 + content[-4:])
    for turn in range(100):
        yield Damage("overwritten", file, f"turn {turn}", overwrite(content, random.Random(turn)), Expected.WORDS)


def _of_text(file: str, content: bytes) -> Iterator[Damage]:
    yield Damage("byte order mark", file, "", b"\xef\xbb\xbf" + content, Expected.SAME)
    yield Damage("line ends", file, "", content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"), Expected.SAME)
    yield Damage("UTF-16", file, "", content.decode().encode("utf-16"))
    places = [found.end() for found in re.finditer(rb"[A-Za-z]", content)]
    for at in places[:: max(1, len(places) // 40)]:
        told = Expected.TOLD if file.endswith(".csv") else Expected.WORDS  # a key that is another one is absent
        yield Damage("no UTF-8", file, f"byte {at}", content[:at] + b"\xff" + content[at:], told)
        yield Damage("NUL in text", file, f"byte {at}", content[:at] + b"\x00" + content[at:], Expected.WORDS)
    if file.endswith(".csv"):
        yield from _of_csv(file, content.decode())
    elif ".json" in file and not file.endswith("l"):
        body, mark, seal = content.partition(b"\ncrc32 ")
        for damage in _of_json(file, body.decode()):
            assert isinstance(damage.content, bytes)
            yield msgspec.structs.replace(damage, content=damage.content + mark + seal)


def _of_csv(file: str, text: str) -> Iterator[Damage]:
    rows = list(csv.reader(io.StringIO(text, newline="")))
    header = rows[0]

    def written(changed: Sequence[Sequence[str]], delimiter: str = ",") -> bytes:
        out = io.StringIO(newline="")
        csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(changed)
        return out.getvalue().encode()

    def with_header(at: int, name: str) -> bytes:
        return written([[*header[:at], name, *header[at + 1 :]], *rows[1:]])

    yield Damage("blank lines", file, "", text.replace("\n", "\n\n").encode(), Expected.SAME)
    yield Damage("columns in another order", file, "", written([row[::-1] for row in rows]), Expected.SAME)
    yield Damage("a further column", file, "", written([[*row, "1"] for row in rows]), Expected.SAME)
    yield Damage("semicolons", file, "", written(rows, ";"))
    yield Damage("no header", file, "", written(rows[1:]))
    yield Damage("quote that never ends", file, "row 1", (",".join(header) + '\n"').encode() + written(rows[1:]))
    for at, name in enumerate(header):
        for kind, content in {
            "renamed column": with_header(at, "odd " + name),
            "missing column": written([[*row[:at], *row[at + 1 :]] for row in rows]),
            "name twice": with_header(at, header[at - 1]),
        }.items():
            yield Damage(kind, file, name, content, Expected.WORDS)
        if len(rows) < 2 or not rows[1][at].strip().replace(".", "", 1).isdigit():
            continue
        for kind, bad in _BAD_NUMBERS.items():
            cells = [*rows[1][:at], bad, *rows[1][at + 1 :]]
            told = Expected.WORDS if name in _NAMES else Expected.TOLD
            yield Damage(f"{kind} as number", file, name, written([header, cells, *rows[2:]]), told)
        for kind, odd in {"negative": "-3", "zero": "0", "large": "1" * 17, "NaN": "NaN"}.items():
            cells = [*rows[1][:at], odd, *rows[1][at + 1 :]]
            yield Damage(f"{kind} number", file, name, written([header, cells, *rows[2:]]), Expected.WORDS)
    for at, row in enumerate(rows[1:], 1):
        yield Damage("short row", file, f"row {at}", written([*rows[:at], row[:-1], *rows[at + 1 :]]))
        yield Damage("long row", file, f"row {at}", written([*rows[:at], [*row, "1"], *rows[at + 1 :]]))


def _of_json(file: str, text: str) -> Iterator[Damage]:
    value = json.loads(text)
    yield Damage("keys in another order", file, "", json.dumps(_reversed(value)).encode(), Expected.SAME)
    yield Damage("wide", file, "", json.dumps(value, indent=9).encode(), Expected.WORDS)
    yield Damage("text behind", file, "end", text.encode() + b"noise")
    for path, parent, key in _leaves(value):
        kept = parent[key]
        known = key not in _NAMES and (
            isinstance(kept, int | float) or (isinstance(kept, str) and kept.replace(".", "", 1).isdigit())
        )
        for kind, raw in {**_BAD_JSON, **_ODD_JSON}.items():
            if isinstance(kept, str) and not known and kind == "text":
                continue
            parent[key] = _RAW
            content = json.dumps(value).replace(json.dumps(_RAW), raw).encode()
            parent[key] = kept
            told = kind in _BAD_JSON and (known or kind == "deep")
            yield Damage(f"{kind} as value", file, path, content, Expected.TOLD if told else Expected.WORDS)
        if isinstance(parent, dict):
            content = json.dumps({**parent}).encode()
            del parent[key]
            yield Damage("missing key", file, path, json.dumps(value).encode(), Expected.WORDS)
            parent[key] = kept


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield every place of a value: its path, what it lies in, and its key there; the latter may be changed."""
    places: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
    for key in places:
        inside = f"{path}/{key}"
        yield inside, value, key
        if isinstance(value[key], dict | list):
            yield from _leaves(value[key], inside)


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(value)}
    return [_reversed(one) for one in value] if isinstance(value, list) else value


def _of_pickle(file: str, content: bytes) -> Iterator[Damage]:
    value = pickle.loads(content)
    odd: Mapping[str, Any] = {
        **{"None": None, "text": "x", "bytes": b"\xff", "list": [], "object": {1: 2}, "negative": -(1 << 63)},
        **{"huge": 1 << 200, "Infinity": float("inf"), "NaN": float("nan"), "half a pair": "\ud800", "itself": value},
    }
    for path, parent, key in _leaves(value):
        kept = parent[key]
        for kind, other in odd.items():
            parent[key] = other
            yield Damage(f"{kind} as value", file, path, pickle.dumps(value), Expected.WORDS)
        parent[key] = kept
