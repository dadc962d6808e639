"""What every writer shows of a document: which sections, how many rows, which ranks of many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar, get_args

from ascend_sn.advisor.median_step import MedianStep
from ascend_sn.advisor.rule import Rule
from ascend_sn.advisor.thresholds import Thresholds

__all__ = ["DEFAULT_TOP_K", "SECTIONS", "SectionName", "Selection", "View", "selection_of", "telling_ranks", "view_of"]

SectionName = Literal[
    "breakdown",
    "critical_path",
    "findings",
    "operators",
    "communication",
    "memory",
    "copies",
    "fusion",
    "inference",
    "timeline",
]
SECTIONS: Final[tuple[SectionName, ...]] = get_args(SectionName)

_NS_PER_MS: Final = 1_000_000

_Row = TypeVar("_Row")

DEFAULT_TOP_K: Final = 100
"""Rows of a ranking in the document when the user asks for no other number; views may show fewer."""


@dataclass(frozen=True)
class Selection:
    """What the document holds.

    Attributes:
        top_k: Rows of each ranking.
        op_time_threshold_ns: Total time from which a kernel type or an operator is listed.
        details: Sections with what only a report or their own switch shows; the plain screen needs the critical path.
        advice: Whether the advisor looks at the run.
        thresholds: Thresholds of the advisor, where they are not those of the package.
        rules: Rules of the user, beside those of the package.
    """

    top_k: int = DEFAULT_TOP_K
    op_time_threshold_ns: int | None = None
    details: frozenset[SectionName] = frozenset(SECTIONS)
    advice: bool = True
    thresholds: Thresholds | None = None
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True)
class View:
    """What the user asked to see.

    Attributes:
        sections: Sections to show; health and verdict are always there.
        top_k: Rows of each ranking; None leaves it to the writer.
        chosen: The user named the sections; the screen then shows them in detail.
    """

    sections: frozenset[SectionName] = frozenset(SECTIONS)
    top_k: int | None = None
    chosen: bool = False

    @property
    def on_screen(self) -> frozenset[SectionName]:
        """What the screen shows: what was named, else what answers where the step goes."""
        return self.sections if self.chosen else self.sections - {"copies", "fusion", "inference", "timeline"}

    def rows(self, rows: Sequence[_Row], default: int) -> Sequence[_Row]:
        """Return the first rows of a ranking."""
        return rows[: self.top_k or default]


def selection_of(
    *,
    view: View,
    threshold_ms: float | None = None,
    screen_only: bool = False,
    advice: bool = True,
    thresholds: Thresholds | None = None,
    rules: tuple[Rule, ...] = (),
) -> Selection:
    """Return what a document must hold for a view.

    Args:
        view: What is shown, with the command line's `--top-k`.
        threshold_ms: `--op-time-threshold`, milliseconds.
        screen_only: Only the screen shows it: nothing is worked out that it leaves out.
        advice: Whether the advisor looks at the run.
        thresholds: Thresholds of the advisor; default those of the package.
        rules: Rules of the user, beside those of the package.
    """
    return Selection(
        top_k=view.top_k or DEFAULT_TOP_K,
        op_time_threshold_ns=None if threshold_ms is None else round(threshold_ms * _NS_PER_MS),
        details=view.sections if view.chosen or not screen_only else frozenset({"critical_path"}),
        advice=advice,
        thresholds=thresholds,
        rules=rules,
    )


def view_of(*, memory: bool, communication: bool, fusion: bool, top_k: int | None) -> View:
    """Return the view of the `--..._report` switches: those sections only, all usual ones without any switch."""
    wanted: dict[SectionName, bool] = {
        "communication": communication,
        "memory": memory,
        "copies": memory,
        "fusion": fusion,
    }
    chosen = frozenset(name for name, on in wanted.items() if on)
    return View(sections=chosen, top_k=top_k, chosen=True) if chosen else View(top_k=top_k)


def telling_ranks(steps: Sequence[MedianStep], limit: int) -> list[MedianStep]:
    """Return all ranks, or of more than `limit` those that tell the most.

    These are the ones whose step loses most to something else than compute, the middle one, and the one that loses
    least, in that order.
    """
    if len(steps) <= limit:
        return list(steps)
    by_loss = sorted(steps, key=lambda step: (step.compute_ns - step.window_ns, step.rank or 0))
    return [*by_loss[: limit - 2], by_loss[len(by_loss) // 2], by_loss[-1]]
