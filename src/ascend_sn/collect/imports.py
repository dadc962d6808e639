"""Do something right after a module was imported, without importing it."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

__all__ = ["call_after_import"]


def call_after_import(actions: dict[str, Callable[[], None]]) -> None:
    """Call each action once its module has been imported; at once when that has happened already."""
    waiting = {}
    for name, action in actions.items():
        if name in sys.modules:
            action()
        else:
            waiting[name] = action
    if waiting:
        sys.meta_path.insert(0, _Finder(waiting))


class _Finder:
    """Finds nothing itself: lets the other finders work, and adds a call behind the loading."""

    def __init__(self, waiting: dict[str, Callable[[], None]]) -> None:
        self._waiting = waiting

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the module's own spec with a call behind its loading; None for every other module."""
        action = self._waiting.pop(name, None)
        if action is None:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader, action)  # type: ignore[assignment]
                return spec
        return None


class _Loader:
    """The module's own loader, and a call behind it."""

    def __init__(self, loader: object, action: Callable[[], None]) -> None:
        self._loader = loader
        self._action = action

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)

    def exec_module(self, module: ModuleType) -> None:
        """Load the module, then act."""
        module.__spec__.loader = module.__loader__ = self._loader  # type: ignore[union-attr, assignment]
        self._loader.exec_module(module)  # type: ignore[attr-defined]
        self._action()
