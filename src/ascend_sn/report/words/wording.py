"""Sentences that several writers share: absence, damage, ranks, what a run is."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from ascend_sn.report.documents.communication import CommunicationGrade, Operation, RankPair
from ascend_sn.report.documents.copies import Copies, Copy
from ascend_sn.report.documents.fusion import Fusion, FusionPattern
from ascend_sn.report.documents.health import Clock, Coverage, Damage, Difference, Health
from ascend_sn.report.documents.memory import HotSpots
from ascend_sn.report.documents.run import Document
from ascend_sn.report.documents.section import Section
from ascend_sn.report.documents.steps import InputPipeline
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable, shortened
from ascend_sn.report.words.quantities import count_text, duration_text, percent_text
from ascend_sn.report.words.reasons import example_text, reason_text, turn_on_text

__all__ = [
    "absence_text",
    "clocks_text",
    "copies_note",
    "copy_text",
    "coverage_text",
    "damage_lines",
    "damage_text",
    "difference_text",
    "direction_text",
    "fusion_gain_text",
    "fusion_notes",
    "fusion_rate_text",
    "health_text",
    "hot_spots_note",
    "input_text",
    "members_text",
    "pair_text",
    "rank_text",
    "ranking_text",
    "ranks_text",
    "share_text",
    "subject_parts",
    "subject_text",
    "turn_on_lines",
    "undivided_text",
]

_EXAMPLE_WIDTH: Final = 90
_ROUTINE: Final = frozenset(
    {
        "foreign_files",
        "ignored_phases",
        "launch_repaired",
        "rounded_time",
        "task_part",
        "unknown_counter",
        "unmatched_flow",
    }
)
_WORTH_A_LOOK: Final = 0.15
"""Exposed share of the step from which the parts of communication matter more than its grade."""
_MINOR_CHECKS: Final = frozenset({"launch_unknown"})

# How readers say that the configuration asked for something that did not come.
_REQUESTED: Final = re.compile(
    r"requested(?P<option> \([^)]*\))?, but (?:nothing was|not) recorded(?P<rest>.*)", re.DOTALL
)


def absence_text(section: Section | Coverage, language: Language) -> str:
    """Say that something is absent, why, and what to turn on."""
    requested = _REQUESTED.fullmatch(section.reason)
    state = language.text(f"absent.{section.state}")
    reason = reason_text(section.reason, language)
    if reason != section.reason and requested is not None:
        said = printable(reason)
    elif requested is not None:
        said = language.text("absent.requested", option=requested["option"] or "", rest=printable(requested["rest"]))
    elif reason and state.lower() not in reason.lower():
        said = language.text("absent.because", state=state, reason=printable(reason))
    else:
        said = printable(reason) or state
    if section.turn_on:
        return language.text("absent.turn-on", said=said, option=printable(turn_on_text(section.turn_on, language)))
    return said


def coverage_text(coverage: Coverage, language: Language) -> str:
    """Say which table or column is absent, and why."""
    return f"{_coverage_name(coverage)}: {absence_text(coverage, language)}"


def turn_on_lines(health: Health, language: Language) -> list[str]:
    """Say what can be turned on, by option; what a source cannot deliver is left out."""
    groups: dict[str, list[Coverage]] = {}
    for entry in health.not_collected:
        if entry.turn_on and entry.state != "damaged":
            groups.setdefault(entry.turn_on, []).append(entry)
    return [
        language.text(
            "notes.turn-on",
            names=", ".join(map(_coverage_name, entries)),
            option=printable(turn_on_text(option, language)),
        )
        for option, entries in groups.items()
    ]


def damage_text(damage: Damage, language: Language) -> str:
    """Say what is wrong with which file, and give one case."""
    told = example_text((damage.example or "").removeprefix("the file ends early; "), language)
    example = shortened(printable(told), _EXAMPLE_WIDTH)
    known = language.has(f"damage.{damage.kind}")
    what = language.text(
        f"damage.{damage.kind}" if known else "damage.other",
        kind=printable(damage.kind.replace("_", " ")),
        example=language.text("damage.example", example=example) if example else "",
    )
    if damage.count > 1:
        what = language.text("damage.counted", what=what, count=count_text(damage.count))
    place = f" ({printable(damage.place)})" if damage.place else ""
    return f"{printable(damage.file)}{place}: {what}"


def damage_lines(health: Health, language: Language) -> list[str]:
    """Say what is wrong, a kind of trouble in one line however many files have it; routine notes are left out."""
    groups: dict[str, list[Damage]] = {}
    for entry in health.damage:
        if entry.kind not in _ROUTINE:
            groups.setdefault(entry.kind, []).append(entry)
    lines = []
    for entries in groups.values():
        first = msgspec.structs.replace(entries[0], count=sum(entry.count for entry in entries))
        said = damage_text(first, language)
        others = len({entry.file for entry in entries}) - 1
        lines.append(language.text("damage.files", said=said, count=others) if others else said)
    return lines


def health_text(health: Health, language: Language, *, every_check: bool = False) -> str:
    """Say in one line whether the data can be believed.

    A launch that is merely unknown is told with `every_check` only.
    """
    parts = []
    if health.silent_devices:
        parts.append(language.text("health.no-device-data", count=len(health.silent_devices)))
    if health.damage_count:
        parts.append(language.text("health.damage", count=health.damage_count))
    elif not parts:
        parts.append(language.text("health.undamaged"))
    parts.append(ranks_text(health, language))
    if health.score is not None:
        parts.append(language.text("health.score", score_ratio=health.score))
    parts += [
        language.text(f"check.{check.check}", count=check.violations, checked_count=check.checked or 0)
        for check in health.checks
        if language.has(f"check.{check.check}") and (every_check or check.check not in _MINOR_CHECKS)
    ]
    return " \u00b7 ".join(part for part in parts if part)


def ranks_text(health: Health, language: Language) -> str:
    """Say how many ranks of how many are here; empty when nothing is known."""
    ranks = health.ranks
    if ranks is None:
        return ""
    if ranks.expected is None:
        said = language.text("health.ranks", count=ranks.present)
    else:
        kind = "exactly" if ranks.expected_is_exact else "at-least"
        said = language.text(f"health.ranks-of-{kind}", present_count=ranks.present, expected_count=ranks.expected)
    if ranks.missing_ranks:
        absent = (ranks.expected or 0) - ranks.present
        more = ", \u2026" if absent > len(ranks.missing_ranks) else ""
        said += language.text("health.missing-ranks", ranks=_list(ranks.missing_ranks) + more)
    if ranks.duplicate_ranks:
        said += language.text("health.duplicate-ranks", ranks=_list(ranks.duplicate_ranks))
    if ranks.extra_ranks:
        said += language.text("health.extra-ranks", ranks=_list(ranks.extra_ranks))
    return said


def difference_text(difference: Difference, language: Language) -> str:
    """Say in which setting some captures differ from the others."""
    return language.text(
        "health.difference",
        setting=printable(difference.setting.removeprefix("config.")),
        other=printable(difference.other_value),
        ranks=difference.other_ranks,
        usual=printable(difference.usual_value),
    )


def clocks_text(clocks: list[Clock], language: Language) -> str:
    """Say whether the clocks of the ranks are aligned, and with which error; empty for a single rank."""
    if not clocks:
        return ""
    unknown = [clock for clock in clocks if clock.offset_ns is None]
    if unknown:
        ranks = ", ".join("?" if clock.rank is None else str(clock.rank) for clock in unknown[:10])
        return language.text(
            "health.clocks-unknown", ranks=ranks, reason=printable(reason_text(unknown[0].reason or "", language))
        )
    errors = [clock.error_ns for clock in clocks if clock.error_ns is not None and clock.method == "collectives"]
    if errors:
        return language.text("health.clocks-aligned", error_ns=max(errors))
    return language.text("health.clocks-host")


def members_text(operation: Operation, language: Language) -> str:
    """Say how many members of the group are here, such as `2 of at least 8`; empty when unknown."""
    if operation.members_present is None or operation.members_expected is None:
        return ""
    how = "members.of-exactly" if operation.members_exact else "members.of-at-least"
    return language.text(how, present=operation.members_present, expected=operation.members_expected)


def undivided_text(operation: Operation, language: Language) -> str:
    """Say how much of the elapsed time is in calls whose parts are not known; empty where the parts are all of it."""
    if not operation.unknown_ns or operation.transit_ns is None:
        return ""
    return language.text(
        "communication.undivided",
        unknown_ns=operation.unknown_ns,
        unknown_ratio=operation.unknown_ns / operation.total_ns,
    )


def direction_text(row: CommunicationGrade, language: Language) -> str:
    """Say where to look: by the grade, or by the part that takes most where that is not moving bytes."""
    if row.main_part != "transit" and (row.exposed_share_ratio or 0.0) >= _WORTH_A_LOOK:
        return language.text(f"direction.{row.main_part}")
    return language.text(f"direction.{row.grade or 'unknown'}")


def input_text(row: InputPipeline, language: Language) -> str:
    """Say how long a step waits for its data, and whether that is what limits it."""
    return language.text(
        "input.verdict",
        rank=rank_text(row.rank, language),
        data_ns=row.data_ns,
        compute_ns=row.compute_ns,
        data_ratio=row.data_share_ratio,
        bottleneck=language.text(f"bottleneck.{row.bottleneck}"),
    )


def pair_text(pair: RankPair, arrow: str, language: Language) -> str:
    """Name two ranks, and say where the numbers are only places in their group."""
    named = f"{pair.src_rank} {arrow} {pair.dst_rank}"
    return f"{named} {language.text('links.in-group')}" if pair.group_id else named


def copies_note(section: Copies, language: Language) -> str:
    """Say how much of the time nothing but a copy runs."""
    exposed_ns, window_ns = section.exposed_ns or 0, section.window_ns or 0
    ratio = exposed_ns / window_ns if window_ns else 0.0
    return language.text("copies.exposed", exposed_ns=exposed_ns, window_ns=window_ns, exposed_ratio=ratio)


def hot_spots_note(spots: HotSpots, shown: int, language: Language) -> str:
    """Say which rows of whom stand at the peak, and what they hold together."""
    return language.text(
        "memory.hot-spots-note",
        rows=ranking_text(shown, spots.holder_count, language),
        rank=rank_text(spots.rank, language),
        device=printable(spots.device),
        held_bytes=spots.device_bytes,
    )


def fusion_rate_text(section: Fusion, language: Language) -> str:
    """Say how many instances of the patterns are fused."""
    if section.fusion_ratio is None:
        return language.text("fusion.none")
    return language.text(
        "fusion.rate",
        fusion_ratio=section.fusion_ratio,
        fused_count=section.fused_instances,
        all_count=section.fused_instances + section.candidate_instances,
    )


def copy_text(row: Copy, language: Language) -> str:
    """Name a direction and, where it is known, the kind of host memory: `H2D pageable`."""
    direction = row.direction.upper() if row.direction else language.text("value.unknown")
    return f"{printable(direction)} {language.text(f'host-memory.{row.host_memory}')}" if row.host_memory else direction


def fusion_gain_text(row: FusionPattern) -> str:
    """What fusing a candidate is expected to take off the step; empty where it has no price."""
    if row.gain is None:
        return ""
    return f"{duration_text(row.gain.expected_ns)} {percent_text(row.gain.expected_ratio)}"


def fusion_notes(section: Fusion, language: Language) -> list[str]:
    """Explain the figures of the fusion report, as far as they are there."""
    notes = []
    if any(row.state == "fused" and row.before_ns is not None for row in section.patterns):
        notes.append(language.text("fusion.estimated"))
    if any(row.state == "candidate" and row.saving_ns is None for row in section.patterns):
        notes.append(language.text("fusion.bytes-unknown"))
    if any(row.gain is not None for row in section.patterns):
        notes.append(language.text("fusion.priced"))
    elif section.unpriced:
        notes.append(language.text("fusion.unpriced", reason=section.unpriced))
    return notes


def rank_text(rank: int | None, language: Language) -> str:
    """Name a rank."""
    return language.text("rank.unknown") if rank is None else language.text("rank.number", rank=rank)


def ranking_text(shown: int, total: int, language: Language) -> str:
    """Say how many rows of a ranking are shown."""
    return (
        language.text("ranking.of", shown=shown, all=total)
        if shown < total
        else language.text("ranking.all", count=total)
    )


def subject_parts(document: Document, language: Language) -> list[str]:
    """Say what the run is: name, sources, devices, profiles, steps."""
    profiles = document.profiles
    formats = sorted({profile.format for profile in profiles})
    devices = sorted({profile.device_name or profile.device_kind for profile in profiles})
    name = f"{document.input} \u00b7 {document.job}" if document.job else document.input
    parts = [printable(name), ", ".join(map(printable, formats)), ", ".join(map(printable, devices))]
    parts.append(language.text("subject.profiles", count=len(profiles)))
    if document.steps.job_step_count:
        parts.append(language.text("subject.steps", count=document.steps.job_step_count))
    return [part for part in parts if part]


def subject_text(document: Document, language: Language) -> str:
    """The same in one line."""
    return " \u00b7 ".join(subject_parts(document, language))


def share_text(part: float | None, whole: float | None) -> str:
    """A part in percent of a whole; empty when either is unknown."""
    return "" if part is None or not whole else percent_text(part / whole)


def _coverage_name(coverage: Coverage) -> str:
    return coverage.table if coverage.column is None else f"{coverage.table}.{coverage.column}"


def _list(numbers: list[int]) -> str:
    """Numbers with runs joined: 2-7, 9."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(count_text(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
