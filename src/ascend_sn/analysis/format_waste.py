"""A29: device time that converts, moves and casts instead of computing, and pairs that undo each other."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.activity import grouped
from ascend_sn.analysis.operator_names import plain_name
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed

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
    found = db.execute("""
        select profile_id, rank, coalesce(op_type, name) as op_type, kind, coalesce(device_id, -1)::bigint as device_id,
               coalesce(stream, '') as stream, dur_ns, input_shapes, input_dtypes, input_formats,
               output_shapes, output_dtypes, output_formats
        from kernel
        where kind in ('compute', 'fused')
        order by profile_id, device_id, stream, ts_ns, kernel_id
    """).fetchnumpy()
    rows: list[dict[str, Any]] = []
    for profile_id, part in grouped(found["profile_id"]).items():
        rows.extend(_summed(profile_id, {name: column[part] for name, column in found.items()}))
    return listed(db, rows, _TYPES)


def _summed(profile_id: int, own: dict[str, Any]) -> list[dict[str, Any]]:
    names = own["op_type"].tolist()
    of_name = {name: waste_kind(name) for name in set(names)}
    kinds = [of_name[name] for name in names]
    dur = np.asarray(own["dur_ns"], np.int64)
    has_shapes = not bool(np.ma.getmaskarray(own["input_shapes"]).all())
    pairs, pair_ns = _inverse_pairs(own, names, kinds, dur)
    whole = int(dur.sum())
    rank = own["rank"][0]
    rows = []
    for kind, name in sorted({(kind, name) for kind, name in zip(kinds, names, strict=True) if kind is not None}):
        chosen = np.array([one == name for one in names], np.bool_)
        total = int(dur[chosen].sum())
        undone = pair_ns.get(name, 0)
        rows.append(
            {
                "profile_id": profile_id,
                "rank": None if rank is np.ma.masked else int(rank),
                "kind": kind,
                "op_type": name,
                "calls": int(chosen.sum()),
                "total_ns": total,
                "share_ratio": total / whole if whole else None,
                "inverse_pairs": pairs.get(name, 0) if has_shapes else None,
                "inverse_ns": undone if has_shapes else None,
                "inverse_share_ratio": undone / whole if has_shapes and whole else None,
            }
        )
    return sorted(rows, key=lambda row: (-row["total_ns"], row["op_type"]))


def _inverse_pairs(
    own: dict[str, Any], names: list[str], kinds: list[str | None], dur: Any
) -> tuple[dict[str, int], dict[str, int]]:
    """Number of pairs and their time by the type of the second kernel; a kernel is part of one pair."""
    sides = [
        tuple(zip(*(_texts(own, f"{side}_{what}") for what in ("shapes", "dtypes", "formats")), strict=True))
        for side in ("input", "output")
    ]
    lanes = list(zip(own["device_id"].tolist(), own["stream"].tolist(), strict=True))
    pairs: dict[str, int] = {}
    pair_ns: dict[str, int] = {}
    waiting: list[int] = []
    for at, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        if at and lanes[at] != lanes[at - 1]:
            waiting = []
        if kind is None:
            waiting = []
            continue
        got, made = sides[0][at], sides[1][at]
        back = next(
            (first for first in reversed(waiting) if kinds[first] == kind and sides[1][first] == got
             and sides[0][first] == made and (got != made or kind == "transpose")),
            None,
        )  # fmt: skip
        if back is None or got[0] is None:
            waiting.append(at)
            continue
        waiting.remove(back)
        pairs[name] = pairs.get(name, 0) + 1
        pair_ns[name] = pair_ns.get(name, 0) + int(dur[back] + dur[at])
    return pairs, pair_ns


def _texts(own: dict[str, Any], name: str) -> list[str | None]:
    """First tensor of a column."""
    return [None if value is None else str(value).split(";", 1)[0] for value in np.ma.asarray(own[name]).tolist()]


ANALYSIS = Analysis(
    code="A29",
    name="format_waste",
    title="Conversions and copies on the device",
    per_profile=format_waste,
    needs=(Need("kernel"),),
)
