import os
from collections.abc import Callable, Sequence
from mmap import mmap
from typing import Any, Self, TypeVar

from numpy.typing import NDArray

_Array = NDArray[Any]

SOURCES: str

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
def strings_texts(strings: object, codes: _Array, /) -> list[str]: ...
def strings_integers(strings: object, codes: _Array, values: _Array, valid: _Array, /) -> None: ...
def scanner_new(
    strings: object,
    keys: tuple[bytes, ...],
    numbers_from: int,
    keep_others: int,
    largest: int,
    piece_size: int,
    threads: int,
    /,
) -> object: ...
def scanner_feed(
    scanner: object, buffer: bytearray | mmap, begin: int, end: int, offset: int, last: bool, /
) -> tuple[object, int]: ...
def scanner_damage(scanner: object, /) -> list[tuple[str, int, int, bytes]]: ...
def scanner_members(scanner: object, /) -> list[tuple[bytes, bytes]]: ...
def scanner_has_list(scanner: object, /) -> bool: ...
def block_count(block: object, /) -> int: ...
def block_events(block: object, /, *arrays: _Array) -> None: ...
def block_argument(block: object, kind: _Array, code: _Array, value: _Array, number: _Array, key: int, /) -> None: ...
def block_told(block: object, /) -> list[int]: ...
def block_sparse(block: object, row: _Array, code: _Array, number: _Array, key: int, /) -> int: ...
def release_free() -> None: ...
def codes_of(keys: _Array, codes: _Array, /) -> int: ...
def first_match(*arrays: _Array) -> None: ...
def places(ascending: _Array, wanted: _Array, found: _Array, /) -> None: ...
def compact(codes: _Array, table: _Array, used: _Array, compacted: _Array, /) -> int: ...
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

class SpanTotals:
    def add(self, kind: Any, thread: Any, name_id: Any, ts_ns: Any, dur_ns: Any, class_of_name: Any, /) -> bytes: ...
    def names(self) -> list[tuple[int, int, int, int]]: ...
    def classes(self) -> tuple[int, ...]: ...

def span_totals(class_of_kind: bytes, first: int, flag: int, /) -> SpanTotals: ...

class SpanCalls:
    def start_op(
        self,
        name: str,
        kind: str | None = None,
        *,
        size_bytes: int | None = None,
        group: str | None = None,
        op: str | None = None,
        ranks: Sequence[int] | None = None,
        dtype: str | None = None,
        sequence: int | None = None,
    ) -> None: ...
    def stop_op(self, name: str) -> None: ...
    def _bind(self, ring: Ring, kind: int, wake: Callable[[], object], /) -> None: ...
    def _unbind(self) -> None: ...

_Class = TypeVar("_Class", bound=type[SpanCalls])

def own_calls(derived: _Class, /) -> _Class: ...

class Ring:
    def __new__(
        cls,
        path: str | os.PathLike[str] | None,
        capacity: int,
        number: Callable[[str], int] | None = ...,
        offset_ns: int | None = ...,
        names: dict[str, int] | None = ...,
        /,
    ) -> Self: ...
    def begin(self, name: int | str, kind: int, value: int = ..., ref: int = ..., name_id: int = ..., /) -> None: ...
    def end(self, name: int | str, end_ns: int = ..., /) -> int: ...
    def append(
        self, kind: int, thread: int, name_id: int | str, ts_ns: int, dur_ns: int, value: int, ref: int, /
    ) -> int: ...
    def take_open(self, end_ns: int, flag: int, thread: int = ..., /) -> bytes: ...
    def full(self) -> bool: ...
    def thread_count(self) -> int: ...
    def now(self) -> int: ...
    def peek(self) -> bytes: ...
    def peek_columns(self, most: int) -> tuple[bytes, ...]: ...
    def release(self, count: int, /) -> None: ...
    def position(self) -> int: ...
    def waiting(self) -> int: ...
    def take_dropped(self) -> int: ...
    def close(self) -> None: ...

def ring_recover(content: bytearray, /) -> tuple[bytes, bytes, int, int, int, int, int] | None: ...
def pyramid_fill(
    start: _Array,
    end: _Array,
    busy: _Array,
    count: _Array,
    longest: _Array,
    length: _Array,
    offsets: _Array,
    factor: int,
    /,
) -> None: ...
def pyramid_view(
    start: _Array,
    end: _Array,
    busy: _Array,
    count: _Array,
    longest: _Array,
    length: _Array,
    offsets: _Array,
    out_start: _Array,
    out_end: _Array,
    out_busy: _Array,
    out_count: _Array,
    out_place: _Array,
    factor: int,
    t0: int,
    t1: int,
    /,
) -> int: ...
def pyramid_views(
    start: _Array,
    end: _Array,
    busy: _Array,
    count: _Array,
    longest: _Array,
    length: _Array,
    base: _Array,
    upper: _Array,
    slices: _Array,
    out_start: _Array,
    out_end: _Array,
    out_busy: _Array,
    out_count: _Array,
    out_place: _Array,
    out_first: _Array,
    out_rows: _Array,
    factor: int,
    t0: int,
    t1: int,
    most: int,
    /,
) -> int: ...
def range_max(
    values: _Array, first: _Array, past: _Array, out: _Array, base: int, count: int, factor: int, /
) -> None: ...
def deal_rows(start: _Array, end: _Array, row: _Array, /) -> int: ...
def sum_by_name(
    start: _Array,
    end: _Array,
    name: _Array,
    kind: _Array,
    own: _Array,
    calls: _Array,
    total: _Array,
    own_total: _Array,
    low: _Array,
    high: _Array,
    kinds: _Array,
    touched: _Array,
    met: int,
    /,
) -> int: ...
