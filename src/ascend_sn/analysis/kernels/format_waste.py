"""A29: device time that converts, moves and casts instead of computing, and pairs that undo each other."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.activity import grouped
from ascend_sn.analysis.operator_names import plain_name
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.model.kinds import COMPUTE_KINDS
from ascend_sn.model.rows import Int64

__all__ = ["ANALYSIS", "format_waste", "waste_kind"]

KINDS: Final = {
    "format": ("transdata", "transdatarnn", "formatcast", "npuformatcast", "reformat"),
    "transpose": ("transpose", "transposed", "permute", "transposebatch", "confusiontranspose", "confusiontransposed"),
    "cast": ("cast", "tocopy", "castgrad"),
    "copy": (
        "tensormove",
        "contiguous",
        "viewcopy",
        "asstrided",
        "identity",
        "clone",
        "copy",
        "memcpy",
        "stridedslicecopy",
    ),
}
"""Kinds of waste and the operator types (`operator_names.plain_name`) of each."""

_OF_NAME: Final = {name: kind for kind, names in KINDS.items() for name in names}

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "kind": "varchar",
    "op_type": "varchar",
    "calls": "bigint",
    "total_ns": "bigint",
    "share_ratio": "double",
    "inverse_pairs": "bigint",
    "inverse_ns": "bigint",
    "inverse_share_ratio": "double",
}


def waste_kind(op_type: str | None) -> str | None:
    """Return format, transpose, cast or copy for an operator type that only changes how data lies in memory."""
    return None if op_type is None else _OF_NAME.get(plain_name(op_type))


def format_waste(db: DuckDBPyConnection) -> Result:
    """Sum the kernels that convert formats, transpose, cast and copy, and find pairs that undo each other.

    Two kernels of one kind on one stream undo each other when the second turns what the first made (format, shape and
    type of its output) back into what the first got, with nothing that computes between them. For a transposition only
    shapes are known, so two that restore the shape count.

    Args:
        db: A connection with the tables `kernel`.

    Returns:
        profile_id, rank, kind (format, transpose, cast, copy), op_type, calls, total_ns, share_ratio (of the
        summed kernel time), inverse_pairs (null where shapes were not collected), inverse_ns (both kernels of
        all pairs), inverse_share_ratio (of the summed kernel time); by profile and total.
    """
    types: dict[int, str | None] = dict(
        db.execute(f"""
            select distinct hash(coalesce(op_type, name)), coalesce(op_type, name)
            from kernel
            where kind in {COMPUTE_KINDS}
        """).fetchall()
    )
    if not any(waste_kind(name) for name in types.values()):
        return listed(db, [], _TYPES)
    # Texts are told apart by their hashes: a text for every kernel would take more memory than all else.
    found = db.execute(f"""
        select profile_id, rank, hash(coalesce(op_type, name)) as type_hash, hash(device_id, stream) as lane, dur_ns,
               input_shapes is not null as has_shapes,
               hash({_first("input")}) as got, hash({_first("output")}) as made
        from kernel
        where kind in {COMPUTE_KINDS}
        order by profile_id, coalesce(device_id, -1), coalesce(stream, ''), ts_ns, kernel_id
    """).fetchnumpy()
    rows: list[dict[str, Any]] = []
    for profile_id, part in grouped(found["profile_id"]).items():
        rows.extend(_summed(profile_id, {name: column[part] for name, column in found.items()}, types))
    return listed(db, rows, _TYPES)


def _first(side: str) -> str:
    """The first tensor of a side, in SQL."""
    return ", ".join(f"split_part({side}_{what}, ';', 1)" for what in ("shapes", "dtypes", "formats"))


def _summed(profile_id: int, own: dict[str, Any], types: dict[int, str | None]) -> list[dict[str, Any]]:
    hashes, code = np.unique(np.asarray(own["type_hash"]), return_inverse=True)
    names = [types[number] for number in hashes.tolist()]
    kinds = [waste_kind(name) for name in names]
    dur = np.asarray(own["dur_ns"], np.int64)
    has_shapes = bool(np.asarray(own["has_shapes"]).any())
    pairs, pair_ns = _inverse_pairs(own, code, kinds, dur)
    calls = np.bincount(code, minlength=len(names))
    whole = int(dur.sum())
    rank = own["rank"][0]
    rows = []
    for number, (kind, name) in enumerate(zip(kinds, names, strict=True)):
        if kind is None:
            continue
        total = int(dur[code == number].sum())
        undone = pair_ns.get(number, 0)
        rows.append(
            {
                "profile_id": profile_id,
                "rank": None if rank is np.ma.masked else int(rank),
                "kind": kind,
                "op_type": name,
                "calls": int(calls[number]),
                "total_ns": total,
                "share_ratio": total / whole if whole else None,
                "inverse_pairs": pairs.get(number, 0) if has_shapes else None,
                "inverse_ns": undone if has_shapes else None,
                "inverse_share_ratio": undone / whole if has_shapes and whole else None,
            }
        )
    return sorted(rows, key=lambda row: (-row["total_ns"], row["op_type"]))


def _inverse_pairs(
    own: dict[str, Any], code: npt.NDArray[np.int64], kinds: list[str | None], dur: Int64
) -> tuple[dict[int, int], dict[int, int]]:
    """Number of pairs and their time by the type of the second kernel; a kernel is part of one pair."""
    is_waste = np.array([kind is not None for kind in kinds], np.bool_)[code]
    places = np.flatnonzero(is_waste)
    columns = (np.asarray(own[name])[places].tolist() for name in ("lane", "has_shapes", "got", "made"))
    pairs: dict[int, int] = {}
    pair_ns: dict[int, int] = {}
    waiting: dict[tuple[str | None, int, int], list[int]] = {}
    before, lane_before = -1, None
    for at, number, lane, has_shapes, got, made in zip(places.tolist(), code[places].tolist(), *columns, strict=True):
        if at != before + 1 or lane != lane_before:
            waiting = {}
        before, lane_before = at, lane
        kind = kinds[number]
        turned = waiting.get((kind, made, got))
        if turned and has_shapes and (got != made or kind == "transpose"):
            back = turned.pop()
            pairs[number] = pairs.get(number, 0) + 1
            pair_ns[number] = pair_ns.get(number, 0) + int(dur[back] + dur[at])
        else:
            waiting.setdefault((kind, got, made), []).append(at)
    return pairs, pair_ns


ANALYSIS = Analysis(
    code="A29",
    name="format_waste",
    title="Conversions and copies on the device",
    per_profile=format_waste,
    needs=(Need("kernel"),),
)
