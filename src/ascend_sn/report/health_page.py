"""The health of a run in full: every entry of the ledger, every contradiction, everything not collected."""

from __future__ import annotations

from typing import Final, Literal, TextIO

import msgspec

from ascend_sn.report.documents.health import Health
from ascend_sn.report.documents.run import Document, Profile
from ascend_sn.report.words.language import Code, Language
from ascend_sn.report.words.printable import printable
from ascend_sn.report.words.wording import (
    clocks_text,
    coverage_text,
    damage_text,
    difference_text,
    health_text,
    rank_text,
    subject_text,
)

__all__ = ["DOCTOR_SCHEMA", "DoctorDocument", "doctor_document", "write_health"]

DOCTOR_SCHEMA: Final = "ascend-sn/doctor/1"


class DoctorDocument(msgspec.Struct, kw_only=True):
    """The health part of the document, on its own."""

    schema: Literal["ascend-sn/doctor/1"]
    generator: str
    language: Code
    input: str
    health: Health
    profiles: list[Profile]


def doctor_document(document: Document) -> DoctorDocument:
    """Return what `doctor --format json` gives."""
    return DoctorDocument(
        schema=DOCTOR_SCHEMA,
        generator=document.generator,
        language=document.language,
        input=document.input,
        health=document.health,
        profiles=document.profiles,
    )


def write_health(document: Document, language: Language, stream: TextIO) -> None:
    """Write the health of a run as lines of text."""
    health = document.health
    lines = [subject_text(document, language), "", health_text(health, language, every_check=True)]
    lines += _part("doctor.score", _score_lines(health, language), language)
    lines += _part("doctor.clocks", [text for text in [clocks_text(health.clocks, language)] if text], language)
    lines += _part("doctor.differences", [difference_text(entry, language) for entry in health.differences], language)
    for severity, title in (("damage", "doctor.damage"), ("info", "doctor.notes")):
        entries = [damage_text(entry, language) for entry in health.damage if entry.severity == severity]
        lines += _part(title, entries, language)
    lines += _part("notes.not-collected", [coverage_text(entry, language) for entry in health.not_collected], language)
    lines += _part("doctor.profiles", [_profile_text(profile, language) for profile in document.profiles], language)
    stream.write("\n".join(lines) + "\n")


def _score_lines(health: Health, language: Language) -> list[str]:
    """What lowers the score, and by how much; kernels whose launch is merely unknown do not."""
    if health.score is None or health.score >= 1:
        return []
    return [
        language.text(
            "doctor.score-part",
            check=language.text(f"check.{check.check}", count=check.violations, checked_count=check.checked or 0),
            checked=check.checked,
            share_ratio=check.violations / check.checked,
        )
        for check in health.checks
        if check.checked and check.check != "launch_unknown" and language.has(f"check.{check.check}")
    ]


def _part(title: str, entries: list[str], language: Language) -> list[str]:
    return ["", language.text(title), *(f"  {entry}" for entry in entries)] if entries else []


def _profile_text(profile: Profile, language: Language) -> str:
    known = [
        rank_text(profile.rank, language),
        profile.host or "",
        "" if profile.pid is None else f"pid {profile.pid}",
        profile.device_name or profile.device_kind,
        profile.format,
        profile.source,
    ]
    return " \u00b7 ".join(printable(part) for part in known if part)
