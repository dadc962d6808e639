"""Whether the data can be believed: damage, checks, what is missing, ranks, clocks."""

from __future__ import annotations

from typing import Literal

import msgspec

from ascend_sn.advisor.device_data import SilentDevice
from ascend_sn.report.documents.section import State

__all__ = [
    "Check",
    "Clock",
    "Coverage",
    "Damage",
    "Difference",
    "Health",
    "Ranks",
]


class Damage(msgspec.Struct, kw_only=True):
    """One entry of the damage ledger; `severity` is `damage` where something was lost, else `info`."""

    rank: int | None
    file: str
    place: str | None
    kind: str
    severity: Literal["info", "damage"]
    count: int
    example: str | None


class Check(msgspec.Struct, kw_only=True):
    """One check of the data, summed over the profiles; only those that found something are listed."""

    check: str
    violations: int
    checked: int | None


class Coverage(msgspec.Struct, kw_only=True):
    """A table or column that was not collected, and how to collect it."""

    table: str
    column: str | None
    state: State
    reason: str
    turn_on: str
    profile_count: int


class Ranks(msgspec.Struct, kw_only=True):
    """Which ranks of the job are here. `expected` is a lower bound unless `expected_is_exact`."""

    present: int
    expected: int | None
    expected_is_exact: bool
    basis: Literal["world_size", "group", "none"]
    profiles: int
    missing_ranks: list[int]
    duplicate_ranks: list[int]
    unknown_rank_count: int
    extra_ranks: list[int] = []


class Difference(msgspec.Struct, kw_only=True):
    """A setting in which some captures differ from the others; `other_ranks` names at most ten, by commas."""

    setting: str
    usual_value: str
    usual_count: int
    other_value: str
    other_ranks: str
    other_count: int


class Clock(msgspec.Struct, kw_only=True):
    """How a rank's clock stands to the reference's; `offset_ns` is null where it cannot be known, see `reason`."""

    rank: int | None
    offset_ns: int | None
    error_ns: int | None
    calls: int
    method: str
    reason: str | None


class Health(msgspec.Struct, kw_only=True):
    """Whether the data can be believed; shown first everywhere.

    Attributes:
        damage_count: Damaged things: the counts of the ledger's entries of severity `damage`.
        note_count: Entries of severity `info`.
        silent_devices: Profiles of an accelerator that hold no device record.
        score: 1 - rows that contradict themselves / rows, the worst of all profiles.
        differences: Settings in which captures of the job differ.
        clocks: Offsets between the clocks of several ranks, with the error that remains.
    """

    damage_count: int
    note_count: int
    damage: list[Damage]
    checks: list[Check]
    score: float | None
    rows_checked: int
    ranks: Ranks | None
    silent_devices: list[SilentDevice]
    not_collected: list[Coverage]
    differences: list[Difference] = []
    clocks: list[Clock] = []
