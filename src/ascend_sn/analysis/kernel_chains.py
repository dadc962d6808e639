"""Chains of kernels that feed each other on one stream, and which sequences of types recur in them (A27)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import msgspec
import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.activity import grouped
from ascend_sn.analysis.op_flops import family_of
from ascend_sn.analysis.operator_names import plain_name
from ascend_sn.analysis.relations import worked_out_once
from ascend_sn.analysis.shapes import plain_dtypes, shapes_of, tensor_bytes, total_bytes
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
    found = db.execute("""
        select kernel.profile_id, kernel.rank, kernel_id, coalesce(op_type, kernel.name, '(unnamed)') as op_type, kind,
               coalesce(device_id, -1)::bigint as device_id, coalesce(stream, '') as stream, kernel.dur_ns,
               coalesce(step_id, -1)::bigint as step_id, kernel.input_shapes, kernel.input_dtypes,
               kernel.output_shapes, kernel.output_dtypes, operator.module
        from kernel
        left join operator using (profile_id, operator_id)
        order by kernel.profile_id, device_id, stream, kernel.ts_ns, kernel_id
    """).fetchnumpy()
    return [_chains(found, profile_id, part) for profile_id, part in grouped(found["profile_id"]).items()]


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


def _chains(found: dict[str, Any], profile_id: int, part: slice) -> Chains:
    rows = {name: np.ma.asarray(column[part]) for name, column in found.items()}
    names = rows["op_type"].tolist()
    kinds = rows["kind"].tolist()
    is_compute = np.array([kind in ("compute", "fused") for kind in kinds], np.bool_)
    types: dict[str, int] = {}
    code = np.array([types.setdefault(name, len(types)) for name in names], np.int64)
    can_be_part = np.array([plain_name(name) not in NOT_FUSED for name in types], np.bool_)
    fusible = is_compute & can_be_part[code]
    links = _Links()
    columns = [
        rows[name].tolist() for name in ("input_shapes", "input_dtypes", "output_shapes", "output_dtypes", "module")
    ]
    signatures = [links.number(tuple(values)) for values in zip(*columns, strict=True)]
    lane = _codes(list(zip(rows["device_id"].tolist(), rows["stream"].tolist(), strict=True)))
    step = np.ma.getdata(rows["step_id"]).astype(np.int64)
    count = len(names)
    feeds, passed = np.zeros(count, np.bool_), np.full(count, -1, np.int64)
    near = np.flatnonzero(fusible[:-1] & fusible[1:] & (lane[:-1] == lane[1:]) & (step[:-1] == step[1:]))
    for at in near.tolist():
        linked, size = links.between(signatures[at], signatures[at + 1])
        feeds[at], passed[at] = linked, size
    matrix = np.array([family_of(name) is not None for name in types], np.bool_)
    rank = rows["rank"][0] if count else None
    return Chains(
        profile_id=profile_id,
        rank=None if rank is None or rank is np.ma.masked else int(rank),
        kernel_id=np.ma.getdata(rows["kernel_id"]).astype(np.int64),
        code=code,
        types=list(types),
        dur=np.ma.getdata(rows["dur_ns"]).astype(np.int64),
        feeds=feeds,
        is_compute=is_compute,
        is_matrix=matrix[code],
        moved=np.array([links.moved(signature) for signature in signatures], np.int64),
        passed=passed,
    )


class _Links:
    """What kernels of one signature (shapes, types, module) move, and hand to kernels of another."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._signatures: list[tuple[Any, ...]] = []
        self._between: dict[tuple[int, int], tuple[bool, int]] = {}
        self._moved: dict[int, int] = {}

    def number(self, signature: tuple[Any, ...]) -> int:
        number = self._numbers.setdefault(signature, len(self._numbers))
        if number == len(self._signatures):
            self._signatures.append(signature)
        return number

    def moved(self, number: int) -> int:
        if number not in self._moved:
            inputs, input_dtypes, outputs, output_dtypes, _ = self._signatures[number]
            read, written = total_bytes(inputs, input_dtypes), total_bytes(outputs, output_dtypes)
            self._moved[number] = -1 if read is None or written is None else read + written
        return self._moved[number]

    def between(self, first: int, second: int) -> tuple[bool, int]:
        key = (first, second)
        if key not in self._between:
            self._between[key] = self._linked(self._signatures[first], self._signatures[second])
        return self._between[key]

    @staticmethod
    def _linked(first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[bool, int]:
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


def _codes(keys: list[Any]) -> Int64:
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
