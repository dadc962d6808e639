"""Two runs to differences, a verdict and a gate.

The package itself can be called: `ascend_sn.compare(baseline, candidate)`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ascend_sn.compare.comparison import Comparison
    from ascend_sn.store import Run

__all__: list[str] = []


class _Compare(ModuleType):
    """Python binds a package to its name in the parent, which is the name of the public function as well."""

    def __call__(
        self,
        baseline: Run | Iterable[Run],
        candidate: Run | Iterable[Run],
        *,
        limits: Mapping[str, float] | None = None,
    ) -> Comparison:
        """See `compare.runs.compare`."""
        from ascend_sn.compare.runs import compare

        return compare(baseline, candidate, limits=limits)


sys.modules[__name__].__class__ = _Compare
