"""Answers of the API: JSON, errors with a code, and parameters of a request that are what they should be."""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

__all__ = [
    "LANGUAGES", "ApiError", "answer", "exact", "failed", "integer", "is_api", "json_bytes", "language", "number",
    "parameter", "switch",
]  # fmt: skip

LANGUAGES: Final = ("en", "zh")

_SAFE: Final = 1 << 53
_LIMIT: Final = 1 << 62


class ApiError(Exception):
    """What the API says no to; becomes `{"error": {"code", "message", "hint"}}`."""

    def __init__(self, status: int, code: str, message: str, hint: str = "") -> None:
        self.status, self.code, self.message, self.hint = status, code, message, hint
        super().__init__(message)


def json_bytes(content: Any) -> bytes:
    """Encode plain values and structs; what JSON has no number for (not a number, infinite) is null."""
    return msgspec.json.encode(content, enc_hook=str)


def answer(content: Any, *, status: int = 200) -> Response:
    """Return JSON; bytes are JSON already."""
    body = content if isinstance(content, bytes) else json_bytes(content)
    return Response(body, status, media_type="application/json")


def failed(error: ApiError) -> Response:
    """Return the answer of an error."""
    said = {"code": error.code, "message": error.message, "hint": error.hint}
    return answer({"error": said}, status=error.status)


def is_api(path: str) -> bool:
    """Tell whether an address is one of the API, whose errors are JSON; a browser is told in plain text."""
    return path == "/api" or path.startswith("/api/")


def parameter(request: Request, name: str, default: str | None = None, *, longest: int = 4096) -> str:
    """Return a parameter of the address.

    Raises:
        ApiError: It is missing and has no default, or is too long.
    """
    value = request.query_params.get(name, default)
    if value is None:
        raise ApiError(400, "missing_parameter", f"the parameter {name} is missing")
    if len(value) > longest:
        raise ApiError(400, "bad_parameter", f"{name} is longer than {longest} characters")
    return value


def integer(request: Request, name: str, default: int | None = None, *, low: int = 0, high: int = _LIMIT) -> int:
    """Return a whole number within bounds.

    Raises:
        ApiError: It is missing and has no default, is no whole number, or is out of bounds.
    """
    text = parameter(request, name, None if default is None else str(default))
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 20 and low <= int(text) <= high):
        raise ApiError(400, "bad_parameter", f"{name} must be a whole number from {low} to {high}")
    return int(text)


def number(text: str, what: str) -> float:
    """Return a finite number below 2^62 in size.

    Raises:
        ApiError: It is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not abs(value) < _LIMIT:
        raise ApiError(400, "bad_parameter", f"{what} must be a number of nanoseconds")
    return value


def switch(request: Request, name: str) -> bool:
    """Return whether a parameter is on: 1, true."""
    return parameter(request, name, "0").lower() in ("1", "true")


def language(request: Request) -> str:
    """Return the language that is asked for, English where none is.

    Raises:
        ApiError: There is no such language.
    """
    code = parameter(request, "lang", "en")
    if code not in LANGUAGES:
        raise ApiError(400, "bad_parameter", f"lang must be one of {', '.join(LANGUAGES)}")
    return code


def exact(value: Any) -> Any:
    """A whole number that a browser's numbers cannot hold, as text; anything else as it is."""
    return str(value) if isinstance(value, int) and abs(value) > _SAFE else value
