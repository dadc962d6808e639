"""The log of predictions that were put to the test: one JSON line each, in the cache."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from ascend_sn.store.environment import cache_folder
from ascend_sn.store.remarks import remark
from ascend_sn.store.sealed import BrokenSealError, read_sealed

__all__ = ["CALIBRATION_VERSION", "Outcome", "log_outcomes", "logged_outcomes"]


CALIBRATION_VERSION: Final = 1
_NAME: Final = "calibration.jsonl"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A prediction and what came of it, ns per step; the texts are names of inputs as the user gave them."""

    version: int
    logged_ns: int
    rule: str
    change: str
    confidence: str
    low_ns: int
    expected_ns: int
    high_ns: int
    real_ns: int
    base_ns: int
    baseline: str
    candidate: str


def log_outcomes(outcomes: list[Outcome], *, cache_dir: Path | None = None) -> Path | None:
    """Add outcomes to the log; return its path, None where it cannot be written."""
    path = _place(cache_dir)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:  # one write a line, so that two writers at once mix no lines
            file.write(b"".join(msgspec.json.encode(outcome) + b"\n" for outcome in outcomes))
    except OSError as error:
        remark("the outcome is not logged", error)
        return None
    return path


def logged_outcomes(*, cache_dir: Path | None = None) -> list[Outcome]:
    """Return what was logged; lines that are cut or of a newer version are left out."""
    try:
        lines = read_sealed(_place(cache_dir)).splitlines()
    except (OSError, BrokenSealError):
        return []
    found = []
    for line in lines:
        try:
            outcome = msgspec.json.decode(line, type=Outcome)
        except (msgspec.MsgspecError, RecursionError):
            continue
        if outcome.version <= CALIBRATION_VERSION:
            found.append(outcome)
    return found


def _place(cache_dir: Path | None) -> Path:
    return (cache_dir or cache_folder()) / "predictions" / _NAME
