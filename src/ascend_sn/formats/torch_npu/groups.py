"""Names of communication: group ids and their hash, operator names, data types."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

__all__ = [
    "DTYPE_BYTES",
    "OpName",
    "dtype_bytes",
    "group_hash",
    "group_kind",
    "is_fused",
    "op_of",
    "op_type_of",
    "parse_op_name",
]

_MASK32 = 0xFFFFFFFF
_OP_NAME = re.compile(r"^(?P<base>.+?)__(?P<digits>\d{1,3})_(?P<index>\d{1,18})_\d+$")
_OPS = re.compile(
    "batchsendrecv|reducescatter|alltoallvc|alltoallv|allreduce|allgather|broadcast|alltoall|receive|scatter"
    "|reduce|send|recv"
)
_FUSED = re.compile("allreduce|allgather|reducescatter|alltoall|moe(distribute|init|update)?(dispatch|combine)")
_KINDS: Final = {"default_group": "default", "": None}

DTYPE_BYTES: Final[dict[str, int]] = {
    "INT8": 1,
    "UINT8": 1,
    "HIF8": 1,
    "FP8E4M3": 1,
    "FP8E5M2": 1,
    "INT16": 2,
    "UINT16": 2,
    "FP16": 2,
    "BFP16": 2,
    "BF16": 2,
    "INT32": 4,
    "UINT32": 4,
    "FP32": 4,
    "INT64": 8,
    "UINT64": 8,
    "FP64": 8,
    "INT128": 16,
}


class OpName:
    """A communication operator's name `hcom_<op>__<digits>_<index>_<n>`, taken apart.

    Attributes:
        op: allreduce, allgather, send, ...; the name itself in lower case when none is found in it.
        digits: Last three decimal digits of the group's hash; None when the name has another form.
        index: Number of this call in its group; None likewise.
    """

    __slots__ = ("digits", "index", "op")

    def __init__(self, op: str, digits: str | None, index: int | None) -> None:
        self.op, self.digits, self.index = op, digits, index


@lru_cache(maxsize=4096)
def group_hash(group_id: str) -> str:
    """Return the 64-bit hash, in decimal, that the exporter gives a communicator's id."""
    high = low = 0
    for character in group_id:
        high = (high * 29 + ord(character)) & _MASK32
        low = (low * 131 + ord(character)) & _MASK32
    return str(high << 32 | low)


def group_kind(name: str) -> str | None:
    """Return our name of a group's kind (tp, pp, dp, ...); None when the source gives none."""
    return _KINDS.get(name, name)


def parse_op_name(name: str) -> OpName:
    """Take a communication operator's name apart; a `@hash` behind it is ignored."""
    name = name.partition("@")[0]
    found = _OP_NAME.match(name)
    if found is None:
        return OpName(op_of(name), None, None)
    return OpName(op_of(found["base"]), found["digits"], int(found["index"]))


def op_of(name: str) -> str:
    """Return the collective operation that a name speaks of, longest match first."""
    lowered = name.lower().replace("_", "")
    found = _OPS.search(lowered)
    if found is None:
        return lowered.removeprefix("hcom")
    return "receive" if found[0] == "recv" else found[0]


def op_type_of(name: str) -> str:
    """Return the type that exporters give a communication operator: `hcom_allReduce_`."""
    front, found, _ = name.partition("__")
    return front + "_" if found else front


def is_fused(op_type: str) -> bool:
    """Whether a compute kernel's type says that it communicates too (MatmulAllReduce, MoeDistributeDispatch)."""
    return _FUSED.search(op_type.lower().replace("_", "")) is not None


def dtype_bytes(name: str) -> int | None:
    """Return the size of one element; None for an unknown type."""
    return DTYPE_BYTES.get(name.upper())
