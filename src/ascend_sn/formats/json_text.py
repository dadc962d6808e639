"""Small JSON texts: decoded, or refused in words."""

from __future__ import annotations

import codecs
from decimal import Decimal
from typing import Any, Final

import msgspec

from ascend_sn.errors import JsonTextError

__all__ = ["decimal_object", "json_value"]

_DECIMALS: Final = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)
_TOO_DEEP: Final = "nested too deeply"


def json_value(text: bytes | str, type_: Any = Any) -> Any:
    """Return what a JSON text holds, checked against a type.

    Raises:
        JsonTextError: It is no JSON, of another type, no UTF-8, or nested too deeply.
    """
    if isinstance(text, bytes):
        text = text.removeprefix(codecs.BOM_UTF8)
    try:
        return msgspec.json.decode(text, type=type_)
    except RecursionError as error:
        raise JsonTextError(_TOO_DEEP) from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise JsonTextError(str(error)) from error


def decimal_object(text: str) -> dict[str, Any]:
    """Return the object in a JSON text, fractions as decimals.

    Raises:
        JsonTextError: As `json_value`.
    """
    try:
        return _DECIMALS.decode(text)
    except RecursionError as error:
        raise JsonTextError(_TOO_DEEP) from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise JsonTextError(str(error)) from error
