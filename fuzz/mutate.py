"""Damage of files: a few places changed by tokens of the format, by noise, or cut."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

__all__ = ["BINARY", "CSV", "JSON", "mutate", "overwrite"]

JSON: Final = (
    *(b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\x00", b"\xff", b"\\u", b"\\ud800", b"1e", b"-", b"NaN"),
    *(b'{"ph":"X"', b'"traceEvents":[', b"\x1f\x8b", b"9" * 25, b"[" * 300, b'"args":{"a":', b"}]}", b" " * 70),
    *(b'"ts":', b'"dur":-1', b"null", b"1e400", b"-0.0", b'"ph":"B"', b'"ph":"E"', b"-9223372036854775808"),
)
CSV: Final = (
    *(b",", b'"', b"\n", b"\r\n", b"\t", b"\xef\xbb\xbf", b"\xff", b"\x00", b"N/A", b"nan", b"inf", b"-1", b"1e300"),
    *(b"9" * 30, b"0x10", b" ", b"-9223372036854775809", b'""', b"=1+1", b"1.760123E+15", b",,,,", b"\xe4\xb8\xad"),
)
BINARY: Final = (b"\x00" * 4, b"\xff" * 4, b"\x7f\xff\xff\xff", b"\x80", b"\x80" * 9, b"\x00\x01", b"SQLite", b"\x0d")


def mutate(data: bytes, dice: random.Random, tokens: Sequence[bytes] = JSON) -> bytes:
    """Change a few places of a file, and sometimes cut it."""
    changed = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 5, 20))):
        at = dice.randrange(len(changed) + 1)
        until = at + dice.choice((0, 0, 1, 2, 10, 100))
        changed[at:until] = dice.choice((b"", dice.choice(tokens), dice.randbytes(3), changed[until : until + 50]))
    return bytes(changed[: dice.choice((len(changed), len(changed), dice.randrange(len(changed) + 1)))])


def overwrite(data: bytes, dice: random.Random) -> bytes:
    """Change bytes in place: a format of pages and offsets stays readable around them."""
    changed = bytearray(data)
    for _ in range(dice.choice((1, 2, 5, 30))):
        token = dice.choice((*BINARY, dice.randbytes(1), dice.randbytes(4)))
        at = dice.randrange(len(changed))
        changed[at : at + len(token)] = token
    return bytes(changed[: len(data)])
