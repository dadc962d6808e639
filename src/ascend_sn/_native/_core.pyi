from typing import Any

from numpy.typing import NDArray

_Array = NDArray[Any]

def is_sorted(key: _Array, /) -> bool: ...
def order(key: _Array, order: _Array, /) -> None: ...
def union_sorted(start: _Array, end: _Array, out_start: _Array, out_end: _Array, /) -> int: ...
def union_length_sorted(start: _Array, end: _Array, /) -> int: ...
def intersect_sorted(
    a_start: _Array, a_end: _Array, b_start: _Array, b_end: _Array, out_start: _Array, out_end: _Array, /
) -> int: ...
def subtract_sorted(
    a_start: _Array, a_end: _Array, b_start: _Array, b_end: _Array, out_start: _Array, out_end: _Array, /
) -> int: ...
def sweep_sums(
    start: _Array, end: _Array, kind: _Array, sums: _Array, kind_count: int, lo: int, hi: int, /
) -> bool: ...
def sweep_parts(
    start: _Array,
    end: _Array,
    kind: _Array,
    out_start: _Array,
    out_end: _Array,
    out_mask: _Array,
    kind_count: int,
    lo: int,
    hi: int,
    /,
) -> int: ...
def windows_sums(
    part_start: _Array,
    part_end: _Array,
    part_mask: _Array,
    window_start: _Array,
    window_end: _Array,
    sums: _Array,
    masks: int,
    /,
) -> None: ...
def nest(
    thread: _Array,
    start: _Array,
    dur: _Array,
    parent: _Array,
    self_ns: _Array,
    depth: _Array,
    crossing: _Array,
    /,
) -> None: ...
def enclosing(
    thread: _Array, start: _Array, dur: _Array, q_thread: _Array, q_ts: _Array, found: _Array, /
) -> None: ...
