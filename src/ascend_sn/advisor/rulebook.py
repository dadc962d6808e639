"""The rules that look at a run: those of the package, and those that users bring along.

A file or an installed module of a user holds `RULES`, a tuple of `Rule`. Their texts and limits stand in the rules
themselves, so that one file is all there is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from string import Formatter
from types import ModuleType
from typing import Final, get_args

from ascend_sn.advisor import rules
from ascend_sn.advisor.finding import Effort, Topic
from ascend_sn.advisor.rule import Rule
from ascend_sn.errors import AscendSnError, BroughtCodeError, UnknownNameError, UsageError
from ascend_sn.model.brought_code import call_brought

__all__ = ["PARTS", "Rulebook", "placeholders", "rules_of"]

PARTS: Final = ("title", "message", "advice", "verify", "why", "not-when")
"""Texts that a rule has."""

_CODE: Final = re.compile(r"[A-Z][A-Z0-9]*(-[A-Z0-9]+)+")
_FILE_MODULE: Final = "ascend_sn_rules_of_{}"


class Rulebook:
    """Rules by code; those of the user look after those of the package.

    Raises:
        UsageError: A rule of the user has a code that is taken or no code, lacks a text or has a malformed one, or its
            topic or effort is none of the known ones.
    """

    def __init__(self, own: Sequence[Rule] = ()) -> None:
        self.own: dict[str, Rule] = {}
        for rule in own:
            _check(rule)
            if rule.code in self.own or rule.code in rules.CODES:
                raise UsageError(f"rule {rule.code}: the code is taken")
            self.own[rule.code] = rule

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of all rules, in the order in which they look."""
        return (*rules.CODES, *self.own)

    @property
    def limits(self) -> Mapping[str, Mapping[str, float]]:
        """Limits that the user's rules bring along, by code."""
        return {code: rule.limits for code, rule in self.own.items()}

    def load(self, code: str) -> Rule:
        """Return a rule by its code.

        Raises:
            UnknownNameError: No rule of that code.
        """
        if code in self.own:
            return self.own[code]
        if code in rules.CODES:
            return rules.load(code)
        nearest = next(iter(get_close_matches(code.upper(), self.codes, n=1)), None)
        raise UnknownNameError("rule", code, self.codes, nearest)


def rules_of(places: Iterable[str]) -> tuple[Rule, ...]:
    """Return the rules of Python files (`rules/idle.py`) and of installed modules (`our_team.rules`).

    Raises:
        UsageError: There is no such file or module, it is no Python, or it holds no `RULES`.
    """
    found: list[Rule] = []
    for place in places:
        held = getattr(_module(place), "RULES", None)
        if not isinstance(held, tuple | list) or not held or not all(isinstance(rule, Rule) for rule in held):
            raise UsageError(f"{place}: holds no RULES, a tuple of ascend_sn.advisor.rule.Rule")
        found += held
    return tuple(found)


def _module(place: str) -> ModuleType:
    path = Path(place)
    if path.suffix != ".py" and not path.exists():
        return _installed(place)
    name = _FILE_MODULE.format(re.sub(r"\W", "_", str(path.absolute())))
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{place}: no Python file; rules are written in a file that ends in .py")
    if not path.is_file():
        raise UsageError(f"{place}: no such file")
    module = module_from_spec(spec)
    sys.modules[name] = module  # classes of the file look up their annotations there
    try:
        call_brought(spec.loader.exec_module, module)
    except AscendSnError as error:
        raise UsageError(f"{place}: cannot be used: {error}") from error
    return module


def _installed(place: str) -> ModuleType:
    try:
        return call_brought(import_module, place)
    except BroughtCodeError as error:
        cause = error.__cause__
        if (
            isinstance(cause, ModuleNotFoundError)
            and cause.name is not None
            and f"{place}.".startswith(f"{cause.name}.")
        ):
            raise UsageError(f"{place}: no such file, and no such module ({cause})") from error
        if isinstance(cause, TypeError | ValueError) and place not in sys.modules:
            raise UsageError(f"{place}: no such file, and no name of a module") from error
        raise UsageError(f"{place}: cannot be used: {error}") from error


def _check(rule: Rule) -> None:
    if _CODE.fullmatch(rule.code) is None:
        raise UsageError(f"rule {rule.code!r}: a code is of capital letters, digits and dashes, such as X-IDLE-1")
    lacking = [part for part in PARTS if not rule.texts.get(part)]
    if lacking:
        raise UsageError(f"rule {rule.code}: its texts lack {', '.join(lacking)}")
    for field, given, known in (("topic", rule.topic, get_args(Topic)), ("effort", rule.effort, get_args(Effort))):
        if given not in known:
            raise UsageError(f"rule {rule.code}: its {field} is {given!r}, which is none of {', '.join(known)}")
    for part, text in rule.texts.items():
        try:
            wrong = next((name for name in placeholders(text) if not name.isidentifier()), None)
        except ValueError as error:
            raise UsageError(f"rule {rule.code}: its text {part}: {error}; a brace of its own is doubled") from error
        if wrong is not None:
            raise UsageError(f"rule {rule.code}: its text {part} has {{{wrong}}}, which is no name of a parameter")


def placeholders(text: str) -> set[str]:
    """Return what stands in braces in a text of a rule.

    Raises:
        ValueError: A brace is not closed, or not opened.
    """
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}
