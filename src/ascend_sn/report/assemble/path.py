"""The section of the critical path: the replayed step, its path by class, the longest slices on it, and slack."""

from __future__ import annotations

from typing import Final

import msgspec

from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.pricing import said
from ascend_sn.analysis import Missing
from ascend_sn.replay import CriticalPath, PathPart, TimeClass, Unpriced
from ascend_sn.report.assemble.absence import absent
from ascend_sn.report.documents.critical_path import (
    CriticalPathSection,
    OperatorSlack,
    PathClass,
    PathSlice,
    TimeClassName,
)
from ascend_sn.report.words.language import Language

__all__ = ["critical_path_section"]

_SLICES: Final = 100


def critical_path_section(facts: Facts, language: Language, top_k: int) -> CriticalPathSection:
    """Return the path of the median steady step; absent where nothing can be replayed."""
    replay = facts.replay
    if isinstance(replay, Unpriced):
        return absent(CriticalPathSection, Missing("empty", language.render(said(replay.reason)), ""))
    if replay.base_ns <= 0:
        return absent(CriticalPathSection, Missing("empty", "nothing in the step takes any time", ""))
    path = replay.critical_path()
    ranks = {window.profile_id: window.rank for window in replay.choice.windows}
    slices = [part for part in path.parts if part.name is not None]
    doubts = replay.remarks if replay.refusal is None else (replay.refusal, *replay.remarks)
    return CriticalPathSection(
        collected=True,
        state="collected",
        scope=replay.choice.scope,
        ranks=list(ranks.values()),
        step_ns=path.makespan_ns,
        identity_error_ratio=replay.identity_error_ratio,
        classes=_classes(path),
        slice_count=len(slices),
        slices=[_slice(part, ranks) for part in _longest(slices)],
        operator_count=len(path.operators),
        operators=[
            OperatorSlack(
                name=row.name,
                time_class=_name(row.time_class),
                total_ns=row.total_ns,
                on_path_ns=row.on_path_ns,
                criticality_ratio=row.criticality_ratio,
                slack_ns=row.slack_ns,
            )
            for row in path.operators[:top_k]
        ],
        remarks=list(dict.fromkeys(language.render(said(doubt)) for doubt in doubts)),
    )


def _classes(path: CriticalPath) -> list[PathClass]:
    times = sorted(path.class_ns.items(), key=lambda entry: (-entry[1], entry[0]))
    return [
        PathClass(time_class=_name(class_), dur_ns=dur_ns, share_ratio=dur_ns / path.makespan_ns)
        for class_, dur_ns in times
    ]


def _longest(parts: list[PathPart]) -> list[PathPart]:
    """Return the longest slices in the order of the path."""
    order = sorted(range(len(parts)), key=lambda at: -parts[at].dur_ns)[:_SLICES]
    return [parts[at] for at in sorted(order)]


def _slice(part: PathPart, ranks: dict[int, int | None]) -> PathSlice:
    return PathSlice(
        profile_id=part.profile_id,
        rank=ranks.get(part.profile_id),
        start_ns=part.start_ns,
        dur_ns=part.dur_ns,
        time_class=_name(part.time_class),
        name=part.name or "",
        table=part.table or "",
        row_id=-1 if part.row_id is None else part.row_id,
    )


def _name(class_: TimeClass) -> TimeClassName:
    name: TimeClassName = msgspec.convert(class_.name.lower(), TimeClassName)
    return name
