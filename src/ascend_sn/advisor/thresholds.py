"""Thresholds of the rules: those of the package, those of the user's file, those of the command line."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Final

from ascend_sn.errors import UnknownNameError, UsageError
from ascend_sn.model.settings_tables import read_settings

__all__ = ["FILE_NAME", "Limits", "Thresholds"]

FILE_NAME: Final = "ascend-sn.toml"
"""The user's settings; `[advisor.R-COMM-1]` in it holds thresholds of that rule."""

GENERAL: Final = "advisor"
"""Table of what holds for every rule."""


class Limits(Mapping[str, float]):
    """Thresholds of one rule by name; the unit is in the name."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class Thresholds:
    """All thresholds in force; `changed` names those that the user has set, as `CODE.name`."""

    def __init__(self, tables: Mapping[str, Mapping[str, float]], changed: frozenset[str] = frozenset()) -> None:
        self._tables = {code: dict(values) for code, values in tables.items()}
        self.changed = changed

    @classmethod
    def of_package(cls) -> Thresholds:
        """Return the ones that come with the package."""
        return cls(_packaged())

    @classmethod
    def in_force(
        cls, folder: Path, options: Iterable[str] = (), own: Mapping[str, Mapping[str, float]] | None = None
    ) -> Thresholds:
        """Return those of the package, with the file `ascend-sn.toml` of a folder and options of the command line.

        `own` are the thresholds that rules of the user bring along, by code.

        Raises:
            UsageError: The file or an option sets something that is not there.
        """
        return cls.of_package().with_rules(own or {}).with_file(folder / FILE_NAME).with_options(options)

    @property
    def key(self) -> str:
        """A text that differs where what the user has set differs; empty where that is nothing."""
        return " ".join(
            f"{name}={self._tables[name.rpartition('.')[0]][name.rpartition('.')[2]]}" for name in sorted(self.changed)
        )

    def tables(self) -> dict[str, dict[str, float]]:
        """Return all of them by code; those that hold for every rule under `advisor`."""
        return {code: dict(values) for code, values in self._tables.items()}

    def of(self, code: str) -> Limits:
        """Return those of one rule, or of `advisor`, which hold for all."""
        return Limits(self._tables.get(code, {}))

    def with_rules(self, own: Mapping[str, Mapping[str, float]]) -> Thresholds:
        """Return them with those that rules of the user bring along, as far as they are not there yet."""
        return Thresholds({**own, **self._tables}, self.changed) if own else self

    def with_file(self, path: Path) -> Thresholds:
        """Return them with what a file sets in `[advisor.CODE]`.

        Raises:
            UsageError: The file is no TOML, or sets something that is not there.
        """
        found: Any = read_settings(path).get("advisor", {})
        if not isinstance(found, dict):
            raise UsageError(f"{path}: [advisor] is not a table")
        settings = []
        for name, value in found.items():
            parts = value.items() if isinstance(value, dict) else [(name, value)]
            settings += [(name if isinstance(value, dict) else GENERAL, key, number) for key, number in parts]
        return self._with(settings, f"{path}: ")

    def with_options(self, options: Iterable[str]) -> Thresholds:
        """Return them with options of the form `CODE.name=number`.

        Raises:
            UsageError: An option has another form, or sets something that is not there.
        """
        settings: list[tuple[str, str, object]] = []
        for option in options:
            name, equals, text = option.partition("=")
            code, dot, key = name.strip().rpartition(".")
            try:
                value = float(text)
            except ValueError:
                equals = ""
                value = 0.0
            if not equals or not dot:
                raise UsageError(f"threshold {option!r}: write it as CODE.name=number, such as R-COMM-1.{_example()}")
            settings.append((code, key, value))
        return self._with(settings, "")

    def _with(self, settings: Iterable[tuple[str, str, object]], where: str) -> Thresholds:
        tables = {code: dict(values) for code, values in self._tables.items()}
        changed = set(self.changed)
        for given, key, value in settings:
            code = given if given == GENERAL else given.upper()
            if code not in tables:
                nearest = next(iter(get_close_matches(code, tables, n=1)), None)
                raise UnknownNameError("rule with thresholds", given, tuple(tables), nearest)
            if key not in tables[code]:
                nearest = next(iter(get_close_matches(key, tables[code], n=1)), None)
                raise UnknownNameError(f"threshold of {code}", key, tuple(tables[code]), nearest)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
                raise UsageError(f"{where}threshold {code}.{key}: {value!r} is not a number of zero or more")
            tables[code][key] = value
            changed.add(f"{code}.{key}")
        return Thresholds(tables, frozenset(changed))


@cache
def _packaged() -> dict[str, dict[str, float]]:
    text = Path(__file__).with_name("thresholds.toml").read_text("utf-8")
    return tomllib.loads(text)


def _example() -> str:
    key, value = next(iter(_packaged()["R-COMM-1"].items()))
    return f"{key}={value}"
