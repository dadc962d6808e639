"""What a rule says that needs a number of steps, calls, requests, sizes or ranks, and has fewer: it could not look.

The texts are those of `reason.few-*` and `turn-on.*` in the catalogues, by which readers of other languages get theirs.
"""

from __future__ import annotations

from ascend_sn.advisor.rule import Context, Lacking

__all__ = ["missing_ranks", "too_few_calls", "too_few_epochs", "too_few_requests", "too_few_sizes", "too_few_steps"]


def too_few_steps(analysis: str, count: int, least: int, *, record: int | None = None) -> Lacking:
    """Say that `count` steps can be judged and `least` are needed, for which `record` have to be recorded."""
    reason = f"too few steps: {count} can be judged, {least} are needed"
    return Lacking(analysis, reason, f"a capture of {least if record is None else record} steps or more")


def too_few_epochs(analysis: str, count: int, least: int) -> Lacking:
    """Say that steps of `count` epochs were recorded, and of `least` are needed."""
    reason = f"too few epochs: {count} seen, {least} are needed"
    return Lacking(analysis, reason, f"a capture of {least} epochs or more")


def too_few_calls(analysis: str, count: int, least: int) -> Lacking:
    """Say that no kernel ran oftener than `count` times with the same shapes, and `least` are needed."""
    reason = f"too few equal calls: {count} of a kernel at most, {least} are needed"
    return Lacking(analysis, reason, "a capture of more steps")


def too_few_requests(analysis: str, count: int, least: int) -> Lacking:
    """Say that `count` requests were recorded, and `least` are needed."""
    reason = f"too few requests: {count} recorded, {least} are needed"
    return Lacking(analysis, reason, f"a capture of {least} requests or more")


def too_few_sizes(analysis: str, count: int, least: int) -> Lacking:
    """Say that `count` batch sizes were measured, and `least` are needed."""
    reason = f"too few batch sizes: {count} measured, {least} are needed"
    return Lacking(analysis, reason, "ascend-sn throughput with several batch sizes")


def missing_ranks(context: Context, analysis: str) -> Lacking | None:
    """Say that one rank of a job of several was recorded where ranks have to be compared; None where it is not so."""
    size = max((profile.world_size or 1 for profile in context.profiles), default=1)
    if len(context.profiles) != 1 or size < 2:
        return None
    reason = f"too few ranks: 1 of {size} was recorded, 2 are needed"
    return Lacking(analysis, reason, "open the folder with the ranks' own captures")
