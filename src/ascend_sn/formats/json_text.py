"""Small JSON texts and files: decoded, or refused in words."""

from __future__ import annotations

import codecs
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from ascend_sn.errors import JsonTextError
from ascend_sn.model.ledger import Ledger

__all__ = ["json_object", "json_value"]

_DECIMALS: Final = msgspec.json.Decoder(float_hook=Decimal)
_TOO_DEEP: Final = "nested too deeply"


def json_value(text: bytes | str, type_: Any = Any) -> Any:
    """Return what a JSON text holds, checked against a type.

    Raises:
        JsonTextError: It is no JSON, of another type, no UTF-8, or nested too deeply.
    """
    if isinstance(text, bytes):
        text = text.removeprefix(codecs.BOM_UTF8)
    return _decoded(text, _decoder(type_))


def json_object(path: Path, file: str, ledger: Ledger, *, with_decimals: bool = False) -> dict[str, Any]:
    """Return the object in a JSON file; empty, with a ledger entry, where there is none.

    Args:
        path: The file.
        file: Its name in the ledger.
        ledger: Takes what could not be read; of a text that is not UTF-8 the rest is used.
        with_decimals: Fractions stay decimals: start times have more digits than a float holds.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        ledger.add(file, "unreadable_file", example=error.strerror or str(error))
        return {}
    text = data.decode("utf-8-sig", errors="replace")
    if "\ufffd" in text:
        ledger.add(file, "invalid_utf8", count=text.count("\ufffd"))
    try:
        value = _decoded(text, _DECIMALS if with_decimals else _decoder(Any))
    except JsonTextError as error:
        ledger.add(file, "json_syntax", example=str(error))
        return {}
    if isinstance(value, dict):
        return value
    ledger.add(file, "unknown_structure", example="not an object")
    return {}


@cache  # making one takes longer than most texts
def _decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_)


def _decoded(text: bytes | str, decoder: msgspec.json.Decoder[Any]) -> Any:
    try:
        return decoder.decode(text)
    except RecursionError as error:
        raise JsonTextError(_TOO_DEEP) from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise JsonTextError(str(error)) from error
