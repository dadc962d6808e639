"""What the user named: one path, or several that are read as one input."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

__all__ = ["Input"]

_SHOWN: Final = 3
"""Names that stand for an input of several paths; the others are counted."""


class Input(msgspec.Struct, frozen=True):
    """The paths as the user wrote them, each place once."""

    paths: tuple[Path, ...]

    @classmethod
    def of(cls, path: str | Path | Sequence[str | Path], *more: str | Path) -> Input:
        """Take one path, several, or a sequence of them; what was named twice counts once.

        Raises:
            ValueError: An empty sequence.
        """
        first = [path] if isinstance(path, str | Path) else list(path)
        named = [Path(one) for one in (*first, *more)]
        if not named:
            raise ValueError("no path is named")
        places: dict[str, Path] = {}
        for one in named:
            places.setdefault(os.path.realpath(one), one)
        return cls(tuple(places.values()))

    @property
    def only(self) -> Path | None:
        """The path, where one is named."""
        return self.paths[0] if len(self.paths) == 1 else None

    @property
    def places(self) -> tuple[Path, ...]:
        """Where to look: the path as given where one is named, else absolute paths by name, links of folders resolved.

        A link keeps its own name, since that of its file may say nothing.
        """
        if self.only is not None:
            return self.paths
        return tuple(sorted(_place(path) for path in self.paths))

    @property
    def base(self) -> Path:
        """The folder that names within the input are relative to."""
        if self.only is None:
            return Path(os.path.commonpath([place.parent for place in self.places]))
        return self.only if self.only.is_dir() else self.only.parent

    def holds(self, path: Path) -> bool:
        """Whether a path lies in one of the folders that were named, or is one."""
        inside = Path(os.path.realpath(path))
        return any(named.is_dir() and inside.is_relative_to(os.path.realpath(named)) for named in self.paths)

    @property
    def name(self) -> str:
        """What the input is called: the name of its path; of several the folder they share and the first few."""
        if self.only is not None:
            return _text(os.path.realpath(self.only)).rpartition("/")[2] or str(self.only)
        names = [str(place.relative_to(self.base)) for place in self.places]
        left = [f"+{len(names) - _SHOWN}"] if len(names) > _SHOWN else []
        return _text(f"{self.base.name}/{{{', '.join(names[:_SHOWN] + left)}}}")


def _place(path: Path) -> Path:
    whole = Path(os.path.realpath(path))
    return whole if path.name in ("", "..") else Path(os.path.realpath(path.parent)) / path.name


def _text(path: str) -> str:
    """A name as text; bytes that are no UTF-8 get a replacement mark."""
    return os.fsencode(path).decode("utf-8", "replace")
