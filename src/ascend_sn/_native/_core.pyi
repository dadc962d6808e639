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
def enclosing(thread: _Array, start: _Array, dur: _Array, q_thread: _Array, q_ts: _Array, found: _Array, /) -> None: ...
def strings_new() -> object: ...
def strings_count(strings: object, /) -> int: ...
def strings_text(strings: object, code: int, /) -> str: ...
def strings_integers(strings: object, codes: _Array, values: _Array, valid: _Array, /) -> None: ...
def scanner_new(
    strings: object,
    keys: tuple[bytes, ...],
    keep_others: int,
    largest: int,
    piece_size: int,
    threads: int,
    /,
) -> object: ...
def scanner_feed(
    scanner: object, buffer: bytearray, begin: int, end: int, offset: int, last: bool, /
) -> tuple[object, int]: ...
def scanner_damage(scanner: object, /) -> list[tuple[str, int, int, bytes]]: ...
def scanner_members(scanner: object, /) -> list[tuple[bytes, bytes]]: ...
def scanner_has_list(scanner: object, /) -> bool: ...
def block_count(block: object, /) -> int: ...
def block_events(block: object, /, *arrays: _Array) -> None: ...
def block_argument(block: object, kind: _Array, code: _Array, value: _Array, number: _Array, key: int, /) -> None: ...
def longest_path(
    node_dur: _Array,
    edge_src: _Array,
    edge_dst: _Array,
    edge_weight: _Array,
    start: _Array,
    end: _Array,
    critical: _Array,
    /,
) -> bool: ...
