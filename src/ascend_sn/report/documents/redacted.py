"""A document with stand-ins for paths, users and hosts, ready for every writer."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any, Final, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec

from ascend_sn.compare.figures import RunFigures
from ascend_sn.compare.history.record import Baseline, Record
from ascend_sn.report.documents.comparison import ComparedRun
from ascend_sn.report.documents.health import Damage
from ascend_sn.report.documents.history import HistoryDocument, TrendDocument
from ascend_sn.report.documents.run import Document, Profile
from ascend_sn.report.health_page import DoctorDocument
from ascend_sn.store.redaction import Redactor

__all__ = ["redacted"]

_Value = TypeVar("_Value")

_SAID: Final[frozenset[object]] = frozenset({Record.name, Baseline.where, HistoryDocument.where, TrendDocument.where})
"""Fields that hold a path, or the address or label of something, which stands in sentences and labels as well."""

_PLACES: Final[frozenset[object]] = _SAID | {
    Profile.source,
    Damage.file,
    Document.input,
    Document.job,
    Document.jobs,
    DoctorDocument.input,
    ComparedRun.name,
    RunFigures.name,
}
"""All fields that hold such a thing and nothing else."""

_LABEL: Final = re.compile(r"(#\d+) (.*)", re.DOTALL)
"""A run of a history, by its number and its revision or name."""

_OUR_WORDS: Final = frozenset(
    {
        "schema",
        "generator",
        "language",
        "message_id",
        "rule",
        "id",
        "code",
        "check",
        "table",
        "column",
        "state",
        "scope",
        "what",
        "change",
        "grade",
        "figure",
        "unit",
        "metric",
        "method",
        "kind",
        "severity",
        "device_kind",
        "format",
        "origin",
        "part",
        "decided_by",
        "absent",
        "lacking",
        "quiet",
    }
)
"""Fields that hold words of this package."""


def redacted(document: _Value, redactor: Redactor, *, in_order: bool = False) -> _Value:
    """Return a copy of a document, or of a part of one, in which all foreign texts have stand-ins.

    Field names, the words that this package gives, and numbers stay.

    Args:
        document: What to copy.
        redactor: Gives the stand-ins.
        in_order: Whether stand-ins are counted in the order of the texts, wherever these stand in the document.
    """
    for text in _texts(document):
        redactor.learn(text)
    if hasattr(document, "input"):
        redactor.learn_input(str(document.input))
    for place in _said_places(document):
        if "://" not in place:
            redactor.learn_place(place)
    if in_order:
        for text in sorted(_texts(document)):
            redactor.text(text)
    copy: _Value = _replaced(document, redactor)
    return copy


def _texts(value: Any) -> list[str]:
    """All texts in a value."""
    return [one for one in _parts(value) if isinstance(one, str)]


def _said_places(value: Any) -> list[str]:
    """The places in a value that its sentences name."""
    return [getattr(part, name) for part in _parts(value) for name in _names_among(part, _SAID)]


def _parts(value: Any) -> list[Any]:
    """Everything in a value: its texts, and the structs that they are in."""
    found: list[Any] = []
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, Mapping):
            pending += one.values()
        elif isinstance(one, list | tuple | set | frozenset):
            pending += one
        elif _fields(one):
            found.append(one)
            pending += [getattr(one, name) for name in _fields(one)]
    return found


def _replaced(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.text(value)
    if isinstance(value, Mapping):
        return {key: _replaced(one, redactor) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return type(value)(_replaced(one, redactor) for one in value)
    free = _fields(value)
    if not free:
        return value
    changes: dict[str, Any] = {}
    for name, is_free in free.items():
        if not is_free:
            continue
        before = getattr(value, name)
        if name in _names_among(value, _PLACES):
            changes[name] = (
                [_place(one, redactor) for one in before] if isinstance(before, list) else _place(before, redactor)
            )
        else:
            changes[name] = _replaced(before, redactor)
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(value, **changes)
    return dataclasses.replace(value, **changes)


def _names_among(value: object, fields: frozenset[object]) -> frozenset[str]:
    """The names of those fields of a struct that are among these; none for other values."""
    return _names_of(cast(Hashable, type(value)), fields)


@cache
def _names_of(type_: Any, fields: frozenset[object]) -> frozenset[str]:
    names = type_.__struct_fields__ if issubclass(type_, msgspec.Struct) else ()
    return frozenset(name for name in names if getattr(type_, name) in fields)


def _place(text: str, redactor: Redactor) -> str:
    label = _LABEL.fullmatch(text)
    return redactor.place(text) if label is None else f"{label[1]} {redactor.text(label[2])}"


def _fields(value: object) -> dict[str, bool]:
    """The fields of a struct or dataclass, and whether foreign text can be in them; none for other values."""
    return _fields_of(cast(Hashable, type(value)))


@cache
def _fields_of(type_: Any) -> dict[str, bool]:
    if issubclass(type_, msgspec.Struct):
        names = list(type_.__struct_fields__)
    elif dataclasses.is_dataclass(type_):
        names = [field.name for field in dataclasses.fields(type_) if field.init]
    else:
        return {}
    hints = get_type_hints(type_)
    return {name: name not in _OUR_WORDS and _holds_text(hints[name]) for name in names}


def _holds_text(hint: Any) -> bool:
    """Whether a value of this type can hold a text that is not one of a few known words."""
    if hint is None or hint in (int, float, bool, type(None)) or get_origin(hint) is Literal:
        return False
    parts = get_args(hint)
    return any(_holds_text(part) for part in parts if part is not Ellipsis) if parts else True
