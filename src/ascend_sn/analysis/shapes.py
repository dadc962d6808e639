"""Shapes and data types as the tables hold them: tensors by ';', dimensions by ','."""

from __future__ import annotations

import re
from functools import lru_cache
from math import prod
from typing import Final

__all__ = ["Shape", "plain_dtype", "plain_dtypes", "shapes_of", "tensor_bytes", "total_bytes"]

Shape = tuple[int, ...]

_KEPT: Final = 10_000
"""Texts whose meaning is kept: a training writes the same few shapes and types over and over."""

_WIDTH: Final = {
    "float64": 8,
    "int64": 8,
    "uint64": 8,
    "complex64": 8,
    "complex128": 16,
    "float32": 4,
    "tf32": 4,
    "int32": 4,
    "uint32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int16": 2,
    "uint16": 2,
    "float8": 1,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
}

_ALIASES: Final = {
    **dict.fromkeys(("double", "float64", "f64", "fp64"), "float64"),
    **dict.fromkeys(("float", "float32", "f32", "fp32"), "float32"),
    **dict.fromkeys(("half", "float16", "f16", "fp16"), "float16"),
    **dict.fromkeys(("bfloat16", "bf16"), "bfloat16"),
    **dict.fromkeys(("long", "longint", "int64", "i64"), "int64"),
    **dict.fromkeys(("int", "int32", "i32"), "int32"),
    **dict.fromkeys(("unsignedint", "uint32", "u32"), "uint32"),
    **dict.fromkeys(("unsignedlong", "uint64", "u64"), "uint64"),
    **dict.fromkeys(("short", "int16", "i16"), "int16"),
    **dict.fromkeys(("uint16", "unsignedshort", "u16"), "uint16"),
    **dict.fromkeys(("signedchar", "int8", "i8", "char"), "int8"),
    **dict.fromkeys(("unsignedchar", "byte", "uint8", "u8"), "uint8"),
    **dict.fromkeys(("bool", "boolean"), "bool"),
    "complexfloat": "complex64",
    "complex64": "complex64",
    "complexdouble": "complex128",
    "complex128": "complex128",
    "hf32": "tf32",
    "tf32": "tf32",
}


@lru_cache(_KEPT)
def shapes_of(text: str | None) -> tuple[Shape, ...] | None:
    """Parse a column of shapes; a scalar is an empty tuple. None where it is absent or cannot be read."""
    if text is None:
        return None
    shapes = []
    for tensor in text.split(";"):
        sizes = [size.strip() for size in tensor.split(",") if size.strip()]
        if not all(size.isascii() and size.isdigit() for size in sizes):
            return None
        shapes.append(tuple(int(size) for size in sizes))
    return tuple(shapes)


@lru_cache(_KEPT)
def plain_dtype(name: str | None) -> str | None:
    """Return one word for a data type, however the source writes it (`DT_BF16`, `c10::Half`); None if unknown."""
    if name is None:
        return None
    plain = re.sub(r"^(dt_|c10::|torch\.)", "", name.strip().lower())
    plain = re.sub(r"[^a-z0-9]", "", plain)
    if plain.startswith(("float8", "fp8", "f8", "hif8")):
        return "float8"
    return _ALIASES.get(plain)


def plain_dtypes(text: str | None) -> tuple[str | None, ...] | None:
    """Return the plain data types of a column, None where it is absent."""
    return None if text is None else tuple(plain_dtype(name) for name in text.split(";"))


def tensor_bytes(shape: Shape, dtype: str | None) -> int | None:
    """Return the bytes of one tensor, None where the width of its type is not known."""
    width = _WIDTH.get(dtype or "")
    return None if width is None else prod(shape) * width


@lru_cache(_KEPT)
def total_bytes(shapes: str | None, dtypes: str | None) -> int | None:
    """Return the bytes of all tensors of a column pair, None where one of them is not known.

    A place without type and without dimensions is an argument that was not given, and counts nothing.
    """
    found, types = shapes_of(shapes), plain_dtypes(dtypes)
    if found is None or types is None or len(found) != len(types):
        return None
    total = 0
    for shape, dtype, written in zip(found, types, (dtypes or "").split(";"), strict=True):
        if not shape and not _is_tensor(written):
            continue
        size = tensor_bytes(shape, dtype)
        if size is None:
            return None
        total += size
    return total


def _is_tensor(written: str) -> bool:
    return plain_dtype(written) is not None
