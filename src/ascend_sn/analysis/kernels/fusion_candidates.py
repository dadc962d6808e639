"""A27: sequences of kernels that could be one, what that would save, and how much is fused already."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.kernels.kernel_chains import Chains, Recurring, chains, recurring
from ascend_sn.analysis.operator_names import type_of
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed, worked_out_once
from ascend_sn.model.rows import Int64

__all__ = ["ANALYSIS", "fusion_candidates", "fusion_instances"]

PATTERNS_SHOWN: Final = 20
"""Candidates that are listed for a profile."""

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "pattern": "varchar",
    "state": "varchar",
    "op_types": "varchar",
    "length": "integer",
    "instances": "bigint",
    "before_ns": "bigint",
    "after_ns": "double",
    "saving_ns": "double",
    "saving_ratio": "double",
    "share_ratio": "double",
    "is_estimate": "boolean",
    "fusion_ratio": "double",
    "example_kernel_id": "bigint",
}

_INSTANCE_TYPES: Final = {
    "profile_id": "integer",
    "pattern": "varchar",
    "op_types": "varchar",
    "instance": "bigint",
    "place": "bigint",
    "kernel_id": "bigint",
}


class _Fusion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    parts: tuple[str, ...]
    kernels: tuple[str, ...]


def fusion_candidates(db: DuckDBPyConnection) -> Result:
    """List recurring sequences of kernels that feed each other, and kernels that are fused already.

    Candidates are the closed recurring sequences of `kernel_chains`, taken by their saving, the largest first, and
    without kernels that a better candidate has taken. Fused, a sequence needs the time of its bytes without the
    intermediate ones, at the rate its kernels reach now: (bytes - 2 x intermediate) / (bytes / time), and at least that
    of the profile's shortest kernel; a matrix product in first place keeps its own time. The saving of launches is not
    in it. A fused kernel (`fusions.toml`) has as `before` the mean times of unfused kernels of its parts in the
    same profile: an estimate, null where one of the parts does not occur alone.

    Args:
        db: A connection with the tables `kernel` and `operator`.

    Returns:
        profile_id, rank, pattern (operator types by '+'), state (`candidate` or `fused`), op_types (as
        recorded, by blanks), length (kernels in the sequence), instances (occurrences without overlap),
        before_ns (time of all instances), after_ns (the same when fused), saving_ns = before_ns - after_ns
        (null where bytes are not known), saving_ratio (of before), share_ratio (before over the profile's
        summed kernel time), is_estimate, fusion_ratio (fused instances of the pattern over all of them),
        example_kernel_id; by profile, state and saving.
    """
    rows: list[dict[str, Any]] = []
    for found, chosen in zip(chains(db), _chosen_of_all(db), strict=True):
        candidates = [_candidate(found, one) for one in chosen]
        fused = _fused(found)
        rows.extend(_with_rates(candidates + fused))
    rows.sort(key=lambda row: (row["profile_id"], row["state"], -(row["saving_ns"] or 0.0), -(row["before_ns"] or 0),
                               row["op_types"]))  # fmt: skip
    return listed(db, rows, _TYPES)


def fusion_instances(db: DuckDBPyConnection) -> Result:
    """List the kernels of every instance of the candidates, for pricing.

    Returns:
        profile_id, pattern, op_types, instance (from 0 per profile and op_types), place (from 0), kernel_id.
    """
    rows = []
    for found, chosen in zip(chains(db), _chosen_of_all(db), strict=True):
        for one in chosen:
            pattern, op_types = _names(found, one)
            for instance, start in enumerate(one.starts.tolist()):
                for place in range(one.length):
                    kernel_id = int(found.kernel_id[start + place])
                    values = (found.profile_id, pattern, op_types, instance, place, kernel_id)
                    rows.append(dict(zip(_INSTANCE_TYPES, values, strict=True)))
    return listed(db, rows, _INSTANCE_TYPES)


@worked_out_once
def _chosen_of_all(db: DuckDBPyConnection) -> list[list[Recurring]]:
    return [_chosen(found) for found in chains(db)]


def _chosen(found: Chains) -> list[Recurring]:
    """The best candidates, none with a kernel of a better one, as far as they still recur."""
    ranked = []
    for one in recurring(found):
        _, after = _times(found, one)
        before = int(found.dur[_members(one)].sum())
        ranked.append((before - after if after is not None else 0.0, before, one))
    ranked.sort(key=lambda entry: (-entry[0], -entry[1], entry[2].length, int(entry[2].starts[0])))
    used = np.zeros(len(found.code), np.bool_)
    kept: list[Recurring] = []
    for _, _, one in ranked:
        free = ~used[_members(one)].any(axis=1)
        starts = one.starts[free]
        if len(starts) >= 2:
            rest = Recurring(one.length, starts)
            used[_members(rest)] = True
            kept.append(rest)
        if len(kept) == PATTERNS_SHOWN:
            break
    return kept


def _members(one: Recurring) -> Int64:
    """Places of the kernels: one row per instance."""
    return one.starts[:, np.newaxis] + np.arange(one.length)


def _times(found: Chains, one: Recurring) -> tuple[int, float | None]:
    """Time of all instances now, and fused; None where bytes are not known."""
    members = _members(one)
    dur, moved, passed = found.dur[members], found.moved[members], found.passed[members[:, :-1]]
    before = int(dur.sum())
    if bool((moved < 0).any()) or bool((passed < 0).any()):
        return before, None
    matrix = found.is_matrix[members[:, 0]]
    first = matrix.astype(np.int64)
    own = np.where(matrix, dur[:, 0], 0)
    # Behind a matrix product its result is not read again, but it was never written for the others alone.
    chain_dur = dur.sum(axis=1) - own
    chain_moved = moved.sum(axis=1) - np.where(matrix, moved[:, 0], 0)
    saved = 2 * passed.sum(axis=1) - np.where(matrix, passed[:, 0], 0)
    left = np.maximum(chain_moved - saved, 0) / np.maximum(chain_moved, 1)
    busy = found.dur[found.is_compute]
    shortest = int(busy[busy > 0].min()) if bool((busy > 0).any()) else 0
    after = own + np.where(first == 1, chain_dur * left, np.maximum(chain_dur * left, shortest))
    return before, float(after.sum())


def _names(found: Chains, one: Recurring) -> tuple[str, str]:
    types = [found.types[code] for code in found.code[one.starts[0] : one.starts[0] + one.length].tolist()]
    return "+".join(type_of(name) for name in types), " ".join(types)


def _candidate(found: Chains, one: Recurring) -> dict[str, Any]:
    pattern, op_types = _names(found, one)
    before, after = _times(found, one)
    return {
        **_row(found, pattern, "candidate", op_types, one.length, len(one.starts), int(found.kernel_id[one.starts[0]])),
        **_saving(found, before, after),
        "is_estimate": False,
    }


def _fused(found: Chains) -> list[dict[str, Any]]:
    rows = []
    for code, name in enumerate(found.types):
        fusion = _fusion_of(name)
        if fusion is None:
            continue
        places = np.flatnonzero(found.code == code)
        after = int(found.dur[places].sum())
        parts = [_mean_of(found, part) for part in fusion.parts]
        before = None if None in parts else sum(part for part in parts if part is not None) * len(places)
        rows.append(
            {
                **_row(found, "+".join(fusion.parts), "fused", name, 1, len(places), int(found.kernel_id[places[0]])),
                **_saving(found, None if before is None else round(before), float(after)),
                "is_estimate": True,
            }
        )
    return rows


def _mean_of(found: Chains, type_: str) -> float | None:
    """Mean time of the unfused kernels of a type."""
    codes = [code for code, name in enumerate(found.types) if type_of(name) == type_ and _fusion_of(name) is None]
    chosen = np.isin(found.code, codes)
    return float(found.dur[chosen].mean()) if bool(chosen.any()) else None


def _row(
    found: Chains, pattern: str, state: str, op_types: str, length: int, instances: int, example: int
) -> dict[str, Any]:
    return {
        "profile_id": found.profile_id,
        "rank": found.rank,
        "pattern": pattern,
        "state": state,
        "op_types": op_types,
        "length": length,
        "instances": instances,
        "fusion_ratio": None,
        "example_kernel_id": example,
    }


def _saving(found: Chains, before: int | None, after: float | None) -> dict[str, Any]:
    saving = before - after if before is not None and after is not None else None
    whole = int(found.dur[found.is_compute].sum())
    return {
        "before_ns": before,
        "after_ns": after,
        "saving_ns": saving,
        "saving_ratio": saving / before if saving is not None and before else None,
        "share_ratio": before / whole if before is not None and whole else None,
    }


def _with_rates(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    counts: dict[tuple[str, str], int] = {}
    for row in rows:
        counts[row["pattern"], row["state"]] = counts.get((row["pattern"], row["state"]), 0) + row["instances"]
    for row in rows:
        fused, all_ = (
            counts.get((row["pattern"], "fused"), 0),
            sum(counts.get((row["pattern"], state), 0) for state in ("fused", "candidate")),
        )
        row["fusion_ratio"] = fused / all_
    return rows


@cache
def _fusion_of(name: str) -> _Fusion | None:
    return next((fusion for fusion, pattern in _fusions() if pattern.fullmatch(name)), None)


@cache
def _fusions() -> tuple[tuple[_Fusion, re.Pattern[str]], ...]:
    text = Path(__file__).with_name("fusions.toml").read_text("utf-8")
    table = msgspec.convert(tomllib.loads(text)["fusion"], tuple[_Fusion, ...])
    return tuple((fusion, re.compile("|".join(fusion.kernels), re.IGNORECASE)) for fusion in table)


ANALYSIS = Analysis(
    code="A27",
    name="fusion_candidates",
    title="Kernels that could be one",
    per_profile=fusion_candidates,
    needs=(Need("kernel"),),
)
