"""Chains of kernels that were fused or split between two runs, over HTTP; also as CSV."""

from __future__ import annotations

import csv
import io

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ascend_sn.analysis.registry import Missing, missing_needs
from ascend_sn.compare.fused import FUSED_NEEDS, FusedChain, FusedChanges, fused_changes
from ascend_sn.insight.answers import ApiError, answer, parameter
from ascend_sn.insight.runs import OpenRun, Served
from ascend_sn.model.printable import harmless

__all__ = ["FusedAnswer", "fused_change_routes"]

_CSV = ("state", "before", "after", "before_kernels", "after_kernels", "count", "before_ns", "after_ns", "gain_ns")


class FusedAnswer(msgspec.Struct, kw_only=True):
    """What was fused between two runs; times and counts per step and rank.

    `state` says why there is nothing, with `reason` and `turn_on`. Of `rank_count` ranks that were looked at,
    `unlike_count` differ by more than can be aligned. A chain has `state` (`fused` or `split`), the kernels `before`
    and `after`, `count`, times, `gain_ns`, and an example in each run: its profile and kernel.
    """

    state: str = "collected"
    reason: str = ""
    turn_on: str = ""
    rank_count: int = 0
    unlike_count: int = 0
    base_kernels: float = 0.0
    candidate_kernels: float = 0.0
    chains: list[FusedChain] = []


def fused_change_routes(served: Served) -> list[Route]:
    """Return the route of chains that were fused."""

    def fused(request: Request) -> Response:
        """Chains of kernels in the place of which the other run has fewer, one of them of a new type.

        Parameters: `base`, `candidate` (ids of runs), `format=csv`.
        """
        base, candidate = (served.opened(parameter(request, name)) for name in ("base", "candidate"))
        form = parameter(request, "format", "json")
        if base is candidate:
            raise ApiError(400, "bad_parameter", "a comparison needs two different runs")
        if form not in ("json", "csv"):
            raise ApiError(400, "bad_parameter", "format is json or csv")
        missing = _missing(base) or _missing(candidate)
        if missing is not None:
            return answer(FusedAnswer(state=missing.state, reason=missing.reason, turn_on=missing.turn_on))
        found = base.once(f"fused {candidate.id}", lambda: _changes(base, candidate))
        if form == "csv":
            headers = {"Content-Disposition": 'attachment; filename="fused.csv"'}
            return Response(_csv(found), media_type="text/csv; charset=utf-8", headers=headers)
        return answer(
            FusedAnswer(
                rank_count=found.rank_count,
                unlike_count=found.unlike_count,
                base_kernels=found.base_kernels,
                candidate_kernels=found.candidate_kernels,
                chains=found.chains,
            )
        )

    return [Route("/fused-changes", fused, methods=["GET"])]


def _missing(opened: OpenRun) -> Missing | None:
    with opened.across.lock:
        return missing_needs(FUSED_NEEDS, opened.across.run.db)


def _changes(base: OpenRun, candidate: OpenRun) -> FusedChanges:
    first, second = sorted((base, candidate), key=lambda one: one.id)
    with first.across.lock, second.across.lock:
        return fused_changes(base.across.run.db, candidate.across.run.db)


def _csv(found: FusedChanges) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_CSV)
    for chain in found.chains:
        figures = (chain.count, chain.before_ns, chain.after_ns, chain.gain_ns)
        names = (chain.state, harmless(chain.before), harmless(chain.after))
        writer.writerow((*names, chain.before_kernels, chain.after_kernels, *(f"{one:.1f}" for one in figures)))
    return "\ufeff" + text.getvalue()
