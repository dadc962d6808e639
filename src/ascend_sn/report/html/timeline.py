"""The timeline of the page: packed for the script, and its longest slices as a table for everyone."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from ascend_sn.report.documents.timeline import StepTimeline, TimelineLane
from ascend_sn.report.html.chart_data import TimelineData, TimelineLaneData
from ascend_sn.report.html.figures import Strip, even_ticks, lane_strips
from ascend_sn.report.tables.text import TextTable
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable, shortened
from ascend_sn.report.words.quantities import count_text, duration_text, percent_text
from ascend_sn.report.words.wording import rank_text

__all__ = ["drawn_timeline", "lanes_table", "packed_timeline", "timeline_note"]

_NAME_WIDTH: Final = 120
_LANE_WIDTH: Final = 40

_NAME_BYTES: Final = 400_000
"""What the names may take of the page; slices whose names come later have none."""

_ESCAPED: Final = 6
"""Bytes of a character that the data block escapes."""

# Kinds of the tables -> what their colour means everywhere on the page.
_KINDS: Final = {"copy": "exposed_copy", "fused": "compute", "communication": "exposed_comm"}


def packed_timeline(timeline: StepTimeline | None, language: Language) -> TimelineData | None:
    """Return the lanes for the script; None where there is no timeline."""
    if timeline is None:
        return None
    names = _Names()
    kinds: dict[str, int] = {}
    lanes = [
        TimelineLaneData(
            group=_group(lane, language),
            label=_label(lane, language),
            depths=1 + max((one.depth for one in lane.slices), default=0),
            total=lane.slice_count,
            slices=[
                number
                for one in lane.slices
                for number in (
                    one.start_ns,
                    one.dur_ns,
                    one.depth,
                    names.number(printable(shortened(one.name, _NAME_WIDTH))),
                    kinds.setdefault(_KINDS.get(one.kind, one.kind), len(kinds)),
                    one.slice_count,
                    one.busy_ns,
                )
            ],
        )
        for lane in timeline.lanes
    ]
    return TimelineData(
        dur_ns=timeline.dur_ns,
        names=list(names.known),
        kinds=list(kinds),
        kind_labels=[_kind_text(kind, language) for kind in kinds],
        lanes=lanes,
    )


class _Names:
    """Names by number, as long as there is room for them."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {"": 0}
        self._room = _NAME_BYTES

    def number(self, name: str) -> int:
        """Return the number of a name; that of no name where the room is used up."""
        if name not in self.known:
            size = sum(_ESCAPED if character in '<>&"\\' else len(character.encode()) for character in name) + 3
            if size > self._room:
                return 0
            self._room -= size
            self.known[name] = len(self.known)
        return self.known[name]


def timeline_note(timeline: StepTimeline, language: Language) -> str:
    """Say which step of which ranks is shown, and what was merged."""
    shown = sum(len(lane.slices) for lane in timeline.lanes)
    every = sum(lane.slice_count for lane in timeline.lanes)
    what = "timeline.of-capture" if timeline.step is None else "timeline.of-step"
    step = {} if timeline.step is None else {"step": timeline.step}
    parts = [language.text(what, dur_ns=timeline.dur_ns, **step)]
    if timeline.profile_count > 1 and timeline.error_ns is not None:
        parts.append(language.text("timeline.one-clock", ranks=timeline.profile_count, error_ns=timeline.error_ns))
    elif timeline.profile_count > 1:
        how = "timeline.same-clock" if timeline.is_aligned else "timeline.own-start"
        parts.append(language.text(how, ranks=timeline.profile_count))
    if shown < every:
        parts.append(language.text("timeline.merged", shown_count=shown, every_count=every))
    return " \u00b7 ".join(parts)


def lanes_table(timeline: StepTimeline, language: Language) -> TextTable:
    """What each lane holds: slices, the time in which one ran, the longest ones."""
    rows = []
    for lane in timeline.lanes:
        outer = [one for one in lane.slices if one.depth == 0]
        busy = min(sum(one.busy_ns for one in outer), timeline.dur_ns)
        longest = max(outer or lane.slices, key=lambda one: one.busy_ns // max(one.slice_count, 1))
        rows.append(
            (
                f"{_group(lane, language)} \u00b7 {_label(lane, language)}",
                count_text(lane.slice_count),
                f"{duration_text(busy)} ({percent_text(busy / timeline.dur_ns)})",
                shortened(longest.name, _NAME_WIDTH),
                duration_text(longest.start_ns),
                duration_text(longest.dur_ns),
            )
        )
    columns = ("column.lane", "timeline.slices", "timeline.busy", "timeline.longest", "timeline.start", "column.time")
    return TextTable(language.text("timeline.lanes"), "", tuple(map(language.text, columns)), tuple(rows), left=(3,))


def _group(lane: TimelineLane, language: Language) -> str:
    return f"{rank_text(lane.rank, language)} \u00b7 {language.text(f'place.{lane.place}')}"


def _label(lane: TimelineLane, language: Language) -> str:
    return language.text(f"lane.{lane.place}", name=printable(shortened(lane.lane, _LANE_WIDTH)))


def _kind_text(kind: str, language: Language) -> str:
    for message_id in (f"kind.{kind}", f"phase.{kind}"):
        if language.has(message_id):
            return language.text(message_id)
    return kind


def drawn_timeline(timeline: StepTimeline, language: Language) -> Markup:
    """Draw the outermost slices of every lane, for print and for readers without a script."""
    strips = [
        Strip(
            f"{_group(lane, language)} \u00b7 {_label(lane, language)}",
            tuple((_KINDS.get(one.kind, one.kind), one.start_ns, one.dur_ns) for one in lane.slices if one.depth == 0),
        )
        for lane in timeline.lanes
    ]
    ticks = [(tick, duration_text(tick) if tick else "0") for tick in even_ticks(timeline.dur_ns)]
    return lane_strips(strips, timeline.dur_ns, ticks, language.text("timeline.title"))
