"""Only chosen operator types: names of the guides against what each framework calls its operators."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence

from ascend_sn.model import trace_schema

__all__ = ["OperatorFilter", "operator_types"]

_FILE = os.path.join(os.path.dirname(trace_schema.__file__), "operator_types.toml")


class OperatorFilter:
    """Says whether an operator is of a chosen type, and which types no operator had."""

    def __init__(self, types: Sequence[str]) -> None:
        known = operator_types()
        self._wanted: dict[str, set[str]] = {}
        for type_ in types:
            key = _plain(type_)
            family = next((names for names in known.values() if key in names), {key})
            self._wanted[type_] = family
        self._matched: set[str] = set()

    def takes(self, name: str) -> bool:
        """Whether an operator of this name is to be kept."""
        plain = _plain(name)
        found = [type_ for type_, family in self._wanted.items() if plain in family]
        self._matched.update(found)
        return bool(found)

    def without_match(self) -> list[str]:
        """Return the chosen types that no operator had so far."""
        return [type_ for type_ in self._wanted if type_ not in self._matched]


def operator_types() -> dict[str, set[str]]:
    """Return the known types with all their names, in lower case without name space and punctuation."""
    with open(_FILE, "rb") as file:
        table = tomllib.load(file)
    return {type_: {_plain(type_), *map(_plain, names)} for type_, names in table["types"].items()}


def _plain(name: str) -> str:
    name = name.split("(", 1)[0].rsplit("::", 1)[-1].lower()
    return "".join(letter for letter in name if letter.isalnum())
