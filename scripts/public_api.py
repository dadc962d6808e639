"""Print the public interface in Python: modules, names, signatures, members of classes.

python scripts/public_api.py          print it
python scripts/public_api.py --write  write it to tests/unit/public_api.txt, against which a test holds the code
"""

from __future__ import annotations

import enum
import inspect
import sys
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import ForwardRef

LISTING = Path(__file__).parent.parent / "tests" / "unit" / "public_api.txt"
MODULES = ("ascend_sn", "ascend_sn.errors", "ascend.profiler", "asc_tools.profiler", "asc_tools.advisor")
OURS = {"ascend_sn", "ascend", "asc_tools"}
OPERATORS = ("__call__", "__enter__", "__exit__", "__getitem__", "__iter__", "__len__")


class _Words:
    """An annotation that is shown as it is written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def listing() -> str:
    """Return the whole interface as text, one name a line; members are indented under what holds them."""
    parts = []
    told: dict[type, str] = {}
    for name in MODULES:
        lines = [name, *(f"    {line}" for line in _module(import_module(name), told))]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _module(module: ModuleType, told: dict[type, str]) -> Iterator[str]:
    names: list[str] = getattr(module, "__all__")  # noqa: B009 - a module whose names are not known here
    for name in sorted(names):
        found = getattr(module, name)
        if isinstance(found, ModuleType) and not callable(found):
            yield f"{name}: module"
            yield from (f"    {line}" for line in _module(found, told))
        elif inspect.isclass(found) and found in told:
            yield f"{name}: the same as {told[found]}"
        elif inspect.isclass(found):
            told[found] = f"{module.__name__}.{name}"
            yield from _class(name, found)
        elif callable(found):
            yield f"{name}{signature(found)}"
        else:
            yield f"{name}: {type(found).__name__}"


def _class(name: str, kind: type) -> Iterator[str]:
    if issubclass(kind, enum.Enum):
        yield f"enum {name}: {', '.join(kind.__members__)}"
        return
    if issubclass(kind, BaseException):
        code = getattr(kind, "exit_code", "-")
        yield f"class {name}({kind.__bases__[0].__name__}){signature(kind)}, exit_code {code}"
        return
    fields: tuple[str, ...] = getattr(kind, "__struct_fields__", getattr(kind, "_fields", ()))
    is_protocol = getattr(kind, "_is_protocol", False)
    yield f"class {name}" if fields or is_protocol else f"class {name}{signature(kind)}"
    written = {field: text for base in reversed(kind.__mro__) for field, text in _annotations(base).items()}
    yield from (f"    {field}: {_written(written[field])}" for field in fields)
    ours = {member for base in kind.__mro__ if base.__module__.split(".")[0] in OURS for member in vars(base)}
    for member in sorted(ours - set(fields)):
        if member.startswith("_") and member not in OPERATORS:
            continue
        found = inspect.getattr_static(kind, member)
        if isinstance(found, (property, cached_property)):
            yield f"    {member}: property"
        elif isinstance(found, (staticmethod, classmethod)):
            yield f"    {type(found).__name__} {member}{signature(getattr(kind, member))}"
        elif callable(found):
            yield f"    {member}{signature(found)}"


def _annotations(kind: type) -> dict[str, object]:
    return dict(vars(kind).get("__annotations__", {}))


def signature(function: object) -> str:
    """Return the parameters of something callable as they are written; `(...)` where it does not tell them."""
    assert callable(function)
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [
        parameter.replace(annotation=_written(parameter.annotation))
        for name, parameter in found.parameters.items()
        if name != "self"
    ]
    return str(found.replace(parameters=parameters, return_annotation=_written(found.return_annotation)))


def _written(annotation: object) -> object:
    if isinstance(annotation, ForwardRef):
        return _Words(annotation.__forward_arg__)
    return _Words(annotation) if isinstance(annotation, str) else annotation


def main() -> int:
    if "--write" in sys.argv[1:]:
        LISTING.write_text(listing(), encoding="utf-8")
    else:
        print(listing(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
