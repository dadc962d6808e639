"""One word for an operator under all its names: the types of `model/operator_types.toml`."""

from __future__ import annotations

import tomllib
from functools import cache, lru_cache
from pathlib import Path

from ascend_sn import model

__all__ = ["plain_name", "type_of"]


def type_of(name: str) -> str:
    """Return the operator type that a framework, device or model file means, the name itself where none is known.

    `aten::addmm`, `MatMulV2` and `Gemm` are all MatMul.
    """
    return _types().get(plain_name(name), name.rsplit("::", 1)[-1])


@lru_cache(maxsize=1 << 16)  # asked for every kernel; a run has few names
def plain_name(name: str) -> str:
    """Return a name in lower case, without name space and punctuation."""
    name = name.split("(", 1)[0].rsplit("::", 1)[-1].lower()
    return "".join(letter for letter in name if letter.isalnum())


@cache
def _types() -> dict[str, str]:
    text = Path(str(model.__file__)).with_name("operator_types.toml").read_text("utf-8")
    table: dict[str, list[str]] = tomllib.loads(text)["types"]
    return {plain_name(name): type_ for type_, names in table.items() for name in (type_, *names)}
