"""Chains of kernels that feed each other on one stream, and which sequences of types recur in them (A27)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import msgspec
import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.activity import grouped
from ascend_sn.analysis.kernels.op_flops import family_of
from ascend_sn.analysis.operator_names import plain_name
from ascend_sn.analysis.relations import worked_out_once
from ascend_sn.analysis.shapes import plain_dtypes, shapes_of, tensor_bytes, total_bytes
from ascend_sn.model.kinds import COMPUTE_KINDS
from ascend_sn.model.rows import Bool, Int64

__all__ = ["LONGEST", "SHORTEST", "Chains", "Recurring", "chains", "recurring"]

SHORTEST: Final = 2
LONGEST: Final = 10
"""Kernels of a sequence."""

NOT_FUSED: Final = (
    "transdata",
    "memset",
    "zeroslike",
    "tensormove",
    "oneslike",
    "fill",
    "dropoutgenmask",
    "empty",
    "emptylike",
    "emptystrided",
    "dsagenbitmask",
)
"""Kernels that are no part of a fusion: they prepare or convert memory."""

_UNKNOWN: Final = -1


class Chains(msgspec.Struct, frozen=True, eq=False):
    """Kernels of one profile by lane and start.

    Attributes:
        kernel_id: The kernels.
        code: Number of the operator type; `types` has the texts.
        dur: Nanoseconds.
        step_id: Step, -1 for none.
        feeds: The kernel feeds the next one, with nothing in between on the stream.
        is_compute: The kernel computes (alone, or fused with communication).
        is_matrix: The kernel is a matrix product, convolution or attention.
        moved: Bytes of inputs and outputs, -1 where unknown.
        passed: Bytes that the kernel hands to the next one, -1 where unknown.
    """

    profile_id: int
    rank: int | None
    kernel_id: Int64
    code: Int64
    types: list[str]
    dur: Int64
    feeds: Bool
    is_compute: Bool
    is_matrix: Bool
    moved: Int64
    passed: Int64


class Recurring(msgspec.Struct, frozen=True, eq=False):
    """A sequence of types: its length and the places (in `Chains`) where its instances begin, ascending."""

    length: int
    starts: Int64


@worked_out_once
def chains(db: DuckDBPyConnection) -> list[Chains]:
    """Return the compute kernels of every profile with what links each to the next on its stream.

    Two kernels are linked when nothing lies between them on the stream (no copy, wait or collective), they belong to
    the same step, and an output of the first has shape and type of an input of the second. Where shapes were not
    collected, they must belong to the same module instead.
    """
    # Texts are told apart by their hashes: a text for every kernel would take more memory than all else.
    found = db.execute(f"""
        select kernel.profile_id, kernel.rank, kernel_id, hash({_TYPE}) as type_hash,
               kind in {COMPUTE_KINDS} as is_compute, hash(device_id, stream) as lane, kernel.dur_ns,
               coalesce(step_id, -1)::bigint as step_id, hash({_SIGNATURE}) as signature_hash
        from kernel
        left join operator using (profile_id, operator_id)
        order by kernel.profile_id, coalesce(device_id, -1), coalesce(stream, ''), kernel.ts_ns, kernel_id
    """).fetchnumpy()
    types = dict(db.execute(f"select distinct hash({_TYPE}), {_TYPE} from kernel").fetchall())
    signatures = {
        number: tuple(values)
        for number, *values in db.execute(f"""
            select distinct hash({_SIGNATURE}), {_SIGNATURE}
            from kernel
            left join operator using (profile_id, operator_id)
        """).fetchall()
    }
    return [
        _chains(found, profile_id, part, types, signatures) for profile_id, part in grouped(found["profile_id"]).items()
    ]


_TYPE: Final = "coalesce(kernel.op_type, kernel.name, '(unnamed)')"
_SIGNATURE: Final = """kernel.input_shapes, kernel.input_dtypes, kernel.output_shapes, kernel.output_dtypes,
                       operator.module"""


def recurring(found: Chains) -> list[Recurring]:
    """Return the closed recurring sequences of linked kernels, 2 to 10 long, with their non-overlapping instances.

    A sequence holds at most one matrix product, convolution or attention, in first place. It is closed when no longer
    sequence around it has as many instances.
    """
    count = len(found.code)
    gram = found.code.copy()
    fits = np.ones(count, np.bool_)
    by_length: list[list[Recurring]] = []
    identity: list[Int64] = []
    for length in range(SHORTEST, LONGEST + 1):
        last = np.arange(count) + length - 1
        inside = last < count
        last = np.minimum(last, count - 1)
        fits = fits & inside & found.feeds[np.maximum(last - 1, 0)] & ~found.is_matrix[last]
        places = np.flatnonzero(fits)
        if len(places) < 2:
            break
        pairs = (gram[places] << 32) | found.code[last[places]]
        _, number = np.unique(pairs, return_inverse=True)
        gram = np.full(count, _UNKNOWN, np.int64)
        gram[places] = number
        identity.append(gram)
        by_length.append(_instances(places, number.astype(np.int64), length))
        if not by_length[-1]:
            break
    return [one for at, level in enumerate(by_length) for one in _closed(level, at, by_length, identity)]


def _instances(places: Int64, number: Int64, length: int) -> list[Recurring]:
    order = np.argsort(number, kind="stable")
    bounds = [*np.flatnonzero(np.append(True, np.diff(number[order]) > 0)).tolist(), len(order)]
    found = []
    for low, high in pairwise(bounds):
        if high - low < 2:
            continue
        starts = places[order[low:high]]
        if bool((np.diff(starts) < length).any()):
            kept = [int(starts[0])]
            for start in starts[1:].tolist():
                if start - kept[-1] >= length:
                    kept.append(start)
            starts = np.array(kept, np.int64)
        if len(starts) >= 2:
            found.append(Recurring(length, starts))
    return found


def _closed(
    level: list[Recurring], at: int, by_length: list[list[Recurring]], identity: list[Int64]
) -> list[Recurring]:
    if at + 1 >= len(by_length):
        return level
    covered: dict[int, int] = {}
    for longer in by_length[at + 1]:
        first = int(longer.starts[0])
        for place in (first, first + 1):
            gram = int(identity[at][place])
            covered[gram] = max(covered.get(gram, 0), len(longer.starts))
    return [one for one in level if covered.get(int(identity[at][one.starts[0]]), 0) < len(one.starts)]


def _chains(
    found: dict[str, Any], profile_id: int, part: slice, types: dict[int, str], signatures: dict[int, tuple[Any, ...]]
) -> Chains:
    rows = {name: column[part] for name, column in found.items()}
    hashes, code = np.unique(np.asarray(rows["type_hash"]), return_inverse=True)
    names = [types[number] for number in hashes.tolist()]
    is_compute = np.asarray(rows["is_compute"], np.bool_)
    can_be_part = np.array([plain_name(name) not in NOT_FUSED for name in names], np.bool_)
    is_matrix = np.array([family_of(name) is not None for name in names], np.bool_)
    fusible = is_compute & can_be_part[code]
    hashes, signature = np.unique(np.asarray(rows["signature_hash"]), return_inverse=True)
    links = _Links([signatures[number] for number in hashes.tolist()])
    moved = np.array([links.moved(number) for number in range(len(hashes))], np.int64)
    lane, step = np.asarray(rows["lane"]), np.asarray(rows["step_id"], np.int64)
    count = len(code)
    feeds, passed = np.zeros(count, np.bool_), np.full(count, -1, np.int64)
    near = np.flatnonzero(fusible[:-1] & fusible[1:] & (lane[:-1] == lane[1:]) & (step[:-1] == step[1:]))
    pairs, pair = np.unique(signature[near] * len(hashes) + signature[near + 1], return_inverse=True)
    between = [links.between(*divmod(number, len(hashes))) for number in pairs.tolist()]
    feeds[near] = np.array([linked for linked, _ in between], np.bool_)[pair]
    passed[near] = np.array([size for _, size in between], np.int64)[pair]
    rank = rows["rank"][0] if count else None
    return Chains(
        profile_id=profile_id,
        rank=None if rank is None or rank is np.ma.masked else int(rank),
        kernel_id=np.asarray(rows["kernel_id"], np.int64),
        code=code.astype(np.int64),
        types=names,
        dur=np.ma.getdata(rows["dur_ns"]).astype(np.int64),
        feeds=feeds,
        is_compute=is_compute,
        is_matrix=is_matrix[code],
        moved=moved[signature],
        passed=passed,
    )


class _Links:
    """What kernels of one signature (shapes, types, module) move, and hand to kernels of another."""

    def __init__(self, signatures: list[tuple[Any, ...]]) -> None:
        self._signatures = signatures

    def moved(self, number: int) -> int:
        """Bytes of inputs and outputs, -1 where they are not known."""
        inputs, input_dtypes, outputs, output_dtypes, _ = self._signatures[number]
        read, written = total_bytes(inputs, input_dtypes), total_bytes(outputs, output_dtypes)
        return -1 if read is None or written is None else read + written

    def between(self, number: int, following: int) -> tuple[bool, int]:
        """Whether the first feeds the second, and the bytes that it hands over, -1 where they are not known."""
        first, second = self._signatures[number], self._signatures[following]
        outputs, inputs = shapes_of(first[2]), shapes_of(second[0])
        if outputs is None or inputs is None:
            return first[4] is not None and first[4] == second[4], -1
        output_types = plain_dtypes(first[3]) or (None,) * len(outputs)
        input_types = plain_dtypes(second[1]) or (None,) * len(inputs)
        taken = list(zip(inputs, input_types, strict=False))
        sizes = [
            tensor_bytes(shape, dtype) or 0
            for shape, dtype in zip(outputs, output_types, strict=False)
            if shape and any(shape == other and dtype in (kind, None) for other, kind in taken)
        ]
        return bool(sizes), sum(sizes) if sizes and all(sizes) else -1
