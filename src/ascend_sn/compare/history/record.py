"""One remembered run: what is kept of it, and how its figures are packed."""

from __future__ import annotations

import zlib
from hashlib import sha256
from typing import Final, Literal

import msgspec

from ascend_sn.compare.figures import FIGURES_VERSION, RunFigures
from ascend_sn.compare.metrics import METRICS

__all__ = [
    "Baseline",
    "ChosenBy",
    "Record",
    "Verdict",
    "figures_from",
    "identity_of",
    "packed",
    "setup_of",
    "values_of",
]

Verdict = Literal["passed", "unsure", "possible", "failed"]
"""What the gate said; `possible`: it passed, and is worse by the limit, which too few runs show."""
ChosenBy = Literal["pinned", "level", "newest"]

_MOST_BYTES: Final = 256 << 20
"""Of unpacked figures: whatever unpacks to more is not ours."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One run in the history, without its figures.

    Attributes:
        id: Number in the database, in the order of recording; never given twice.
        series: What is compared with each other: a model, a job, a branch.
        recorded_ns: When it was recorded, ns since the epoch.
        name: Input that it came from.
        revision: Revision of the program; null where not told.
        branch: Branch of the program; null where not told.
        note: What somebody said of it.
        verdict: What the gate said of it; null where it was recorded without being judged.
        pinned: Whether it is kept whatever is pruned, and makes the baseline.
        setup: Device, number of ranks and structure of the job.
        tool_version: Version of ascend-sn that measured it.
        values: Value of each metric that it has: ns, bytes or ratio.
    """

    id: int
    series: str
    recorded_ns: int
    name: str
    revision: str | None
    branch: str | None
    note: str | None
    verdict: Verdict | None
    pinned: bool
    setup: str
    tool_version: str
    values: dict[str, float]

    @property
    def label(self) -> str:
        """How the run is called where it is compared: its number, and its revision or name."""
        return f"#{self.id} {self.revision[:12] if self.revision else self.name}"


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of the history that a candidate was held against.

    Attributes:
        where: File or URL of the history, without password.
        series: The series.
        chosen_by: Why these runs: they are `pinned`, the newest since the last change of `level`, or the `newest`.
        runs: The runs, the oldest first.
    """

    where: str
    series: str
    chosen_by: ChosenBy
    runs: list[Record]


def values_of(figures: RunFigures) -> dict[str, float]:
    """Return each metric that a run has, in ns, bytes or as a ratio."""
    found = {}
    for metric in METRICS:
        samples = metric.samples([figures])
        if samples is not None:
            found[metric.name] = float(samples.runs[0])
    return found


def setup_of(figures: RunFigures) -> str:
    """Name the device, the number of ranks and the groups: runs that differ in them are not compared by the gate."""
    devices = "+".join(figures.device_names or figures.device_kinds) or "?"
    groups = f" ({', '.join(figures.groups)})" if figures.groups else ""
    return f"{devices} x {figures.size}{groups}"


def identity_of(figures: RunFigures) -> str:
    """Return a text that is the same for the same capture, whatever it is called."""
    return sha256(msgspec.json.encode(msgspec.structs.replace(figures, name="", tool_version=""))).hexdigest()


def packed(figures: RunFigures) -> bytes:
    """Return the figures as compressed JSON."""
    return zlib.compress(msgspec.json.encode(figures))


def figures_from(data: bytes, version: int, name: str) -> RunFigures | None:
    """Unpack figures; None where they are damaged or of a newer version of ascend-sn.

    Args:
        data: As `packed` made it.
        version: Version of the record.
        name: What to call the run.
    """
    if not isinstance(version, int) or version > FIGURES_VERSION or not isinstance(data, bytes):
        return None
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(data, _MOST_BYTES)
        if unpacker.unconsumed_tail:
            return None
        return msgspec.structs.replace(msgspec.json.decode(text, type=RunFigures), name=name)
    except (zlib.error, msgspec.MsgspecError, RecursionError):
        return None
