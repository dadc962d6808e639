"""Two runs to differences, a verdict and a gate.

The package itself can be called: `ascend_sn.compare(baseline, candidate)`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ascend_sn.compare.comparison import Comparison

__all__: list[str] = []


class _Compare(ModuleType):
    """Python binds a package to its name in the parent, which is the name of the public function as well."""

    def __call__(self, *sides: Any, **options: Any) -> Comparison:
        from ascend_sn.compare.runs import compare

        return compare(*sides, **options)


sys.modules[__name__].__class__ = _Compare
