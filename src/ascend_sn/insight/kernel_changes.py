"""How much longer the kernels of one run take than those of another, by name: a timeline of both is coloured by it."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ascend_sn.insight.answers import ApiError, answer, parameter
from ascend_sn.insight.runs import OpenRun, Served

__all__ = ["KernelChange", "kernel_change_routes"]

_NAMES: Final = 20_000
"""Names that are told, those of the longest total first."""

_MEANS: Final = """
    select name, count(*) as calls, sum(dur_ns)::double as total_ns
    from kernel
    where name is not null and dur_ns is not null
    group by name
"""


class KernelChange(msgspec.Struct, frozen=True):
    """Kernels of one name in both runs; `change_ratio` is that of the mean, 0.1 being a tenth longer."""

    name: str
    base_count: int
    candidate_count: int
    base_mean_ns: float
    candidate_mean_ns: float
    change_ratio: float | None


def kernel_change_routes(served: Served) -> list[Route]:
    """Return the route of differences between kernels."""

    def kernel_changes(request: Request) -> Response:
        """Mean lengths of kernels by name in two runs; names that only one of them has are left out.

        At most 20,000 names, those of the longest total in either run first. Parameters: `base`, `candidate` (ids of
        runs).
        """
        base, candidate = (served.opened(parameter(request, name)) for name in ("base", "candidate"))
        if base is candidate:
            raise ApiError(400, "bad_parameter", "a comparison needs two different runs")
        return answer(_changes(_means(base), _means(candidate)))

    return [Route("/kernel_changes", kernel_changes)]


def _means(opened: OpenRun) -> dict[str, tuple[int, float]]:
    """Number and total length of the kernels by name."""
    rows = opened.once("kernels by name", lambda: opened.query(_MEANS))
    return {str(name): (int(calls), float(total)) for name, calls, total in rows}


def _changes(base: dict[str, tuple[int, float]], candidate: dict[str, tuple[int, float]]) -> list[KernelChange]:
    shared = sorted(base.keys() & candidate.keys(), key=lambda name: (-max(base[name][1], candidate[name][1]), name))
    changes = []
    for name in shared[:_NAMES]:
        (before_count, before), (after_count, after) = base[name], candidate[name]
        was, now = before / before_count, after / after_count
        changes.append(KernelChange(name, before_count, after_count, was, now, now / was - 1 if was > 0 else None))
    return changes
