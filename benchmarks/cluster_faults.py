"""Faults of a simulated job: what is wrong, with whom, by how much."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from benchmarks.cluster_shape import Shape

__all__ = ["SPELLINGS", "TIMED", "Fault", "parsed_faults"]

SPELLINGS: Final = {
    "slow-rank": ("RANK:FACTOR", "its compute kernels take FACTOR times as long"),
    "slow-memory": ("RANK:FACTOR", "its kernels that memory limits (vector core) take FACTOR times as long"),
    "slow-link": ("RANK[-OTHER]:FACTOR", "the link of a pair, or all links of a rank, are FACTOR times slower"),
    "late-host": ("RANK:MICROSECONDS", "every launch of the rank takes so much longer"),
    "tokens": ("PLACE:FACTOR", "the expert ranks at a place get FACTOR times their share of the tokens"),
    "vocabulary": ("COLUMNS", "the last stage has an output layer of so many columns, the others have not"),
    "leak": ("RANK:BYTES", "so many bytes stay allocated after every step (a multiple of 512)"),
    "clock": ("HOST:MICROSECONDS", "the clock of a host is so much ahead; below 0: behind"),
}
"""What follows the name of each fault, and what it means."""

TIMED: Final = ("slow-rank", "slow-memory", "slow-link", "late-host", "tokens", "vocabulary")
"""Faults that make steps longer."""

_FORM: Final = re.compile(r"^([a-z-]+):(?:(\d+)(?:-(\d+))?:)?(-?\d+(?:\.\d+)?)$")


@dataclass(frozen=True)
class Fault:
    """One fault; `who` is a rank, a place among the expert ranks, or a host, `other` the far end of a link."""

    text: str
    kind: str
    who: int
    other: int | None
    value: float


def parsed_faults(texts: Iterable[str], shape: Shape) -> tuple[Fault, ...]:
    """Return the faults that the texts name.

    Raises:
        ValueError: A text has none of the forms of `SPELLINGS`, or names what the job does not have.
    """
    return tuple(_parsed(text, shape) for text in texts)


def _parsed(text: str, shape: Shape) -> Fault:
    found = _FORM.match(text)
    if found is None or found[1] not in SPELLINGS or (found[2] is None) != (found[1] == "vocabulary"):
        forms = ", ".join(f"{name}:{form}" for name, (form, _) in SPELLINGS.items())
        raise ValueError(f"not a fault: {text}; known are {forms}")
    other = None if found[3] is None else int(found[3])
    fault = Fault(text, found[1], int(found[2] or 0), other, float(found[4]))
    hosts = -(-shape.ranks // shape.ranks_per_host)
    count = {"tokens": shape.ep, "clock": hosts}.get(fault.kind, shape.ranks)
    if fault.who >= count or (
        other is not None and (fault.kind != "slow-link" or other >= count or other == fault.who)
    ):
        raise ValueError(f"not in this job: {text}")
    if fault.kind != "clock" and fault.value <= 0:
        raise ValueError(f"has to be above 0: {text}")
    if fault.kind == "tokens" and fault.value >= shape.ep:
        raise ValueError(f"has to be below ep {shape.ep}: {text}")
    if fault.kind == "leak" and fault.value % 512:
        raise ValueError(f"has to be a multiple of 512: {text}")
    return fault
