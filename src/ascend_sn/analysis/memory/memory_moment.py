"""Device memory at one moment: the live blocks by allocation stack, and the segments of the pool with their gaps."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, NamedTuple

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.relations import Result, selected

__all__ = ["Segment", "live_blocks", "pool_segments"]

_LIVE: Final = """
    with events as (
        select kind, ts_ns, size_bytes, address, stream, operator_id, operator_name, stack_id,
               lead(kind) over block as next_kind, lead(ts_ns) over block as next_ns
        from memory_event
        where profile_id = $profile and coalesce(device, 'device') = $device and kind in ('alloc', 'free')
          and address is not null
        window block as (partition by address order by ts_ns, kind desc)
    )
    select address, coalesce(case when next_kind is null then given_bytes end, size_bytes) as size_bytes, ts_ns,
           events.stream,
           coalesce(stack.frames,
                    concat_ws(chr(10), coalesce(events.operator_name, operator.name), nullif(operator.module, '')),
                    '') as frames
    from events
    left join (select operator_id, name, module, stack_id from operator where profile_id = $profile) operator
        using (operator_id)
    left join (select stack_id, frames from stack where profile_id = $profile) stack
        on stack.stack_id = coalesce(events.stack_id, operator.stack_id)
    left join (select address, max(size_bytes) as given_bytes from memory_block
               where profile_id = $profile and device = $device group by address) given using (address)
    where kind = 'alloc' and ts_ns <= $at and not coalesce(next_kind = 'free' and next_ns <= $at, false)
    order by size_bytes desc, ts_ns, address
"""

_MAPPED: Final = """
    select kind = 'segment_alloc', try_cast(address as hugeint)::bigint, size_bytes, coalesce(stream, '')
    from memory_event
    where profile_id = $profile and coalesce(device, 'device') = $device
      and kind in ('segment_alloc', 'segment_free') and ts_ns <= $at
      and try_cast(address as hugeint) between 0 and 9223372036854775807 - size_bytes
    order by ts_ns, kind desc
"""


class Segment(NamedTuple):
    """A piece of reserved memory at a moment.

    Attributes:
        address: Its first byte.
        size_bytes: Its length.
        stream: Stream it was reserved for; empty where not recorded.
        blocks: Live blocks in it: address, bytes within the segment, place in the list of live blocks.
        gaps: Free ranges in it: address, bytes.
    """

    address: int
    size_bytes: int
    stream: str
    blocks: list[tuple[int, int, int]]
    gaps: list[tuple[int, int]]

    @property
    def free_bytes(self) -> int:
        """Bytes that no live block covers."""
        return sum(size for _, size in self.gaps)

    @property
    def largest_free_bytes(self) -> int:
        """The longest free range, bytes."""
        return max((size for _, size in self.gaps), default=0)


def live_blocks(db: DuckDBPyConnection, *, profile_id: int, device: str, at_ns: int) -> Result:
    """Return the blocks that are allocated at a moment; a free belongs to the latest allocation of its address.

    Blocks from before the recording are in no row, nor are those without a recorded address: nobody knows their free.
    A block allocated at the moment is there, one freed then is not.

    Args:
        db: A connection with the tables `memory_event`, `memory_block`, `operator`, `stack`.
        profile_id: The profile.
        device: Device as the events name it; `device` where they name none.
        at_ns: The moment, on the clock of the profile.

    Returns:
        address, size_bytes (as rounded up, where a memory snapshot tells), ts_ns (allocated then), stream, frames
        (call stack, innermost first, by line feeds; else operator and module; empty where nothing was recorded);
        largest first.
    """
    return selected(db, _LIVE, {"profile": profile_id, "device": device, "at": at_ns})


def pool_segments(db: DuckDBPyConnection, *, profile_id: int, device: str, at_ns: int) -> list[Segment]:
    """Return the segments that are reserved at a moment, by address, each with its live blocks and the gaps between.

    Segments from before the recording are not seen; blocks outside every seen segment are left out. A part of a
    segment that is unmapped shortens or splits it.

    Args:
        db: A connection with the table `memory_event`.
        profile_id: The profile.
        device: Device as the events name it.
        at_ns: The moment, on the clock of the profile.
    """
    chosen = {"profile": profile_id, "device": device, "at": at_ns}
    pieces: list[tuple[int, int, str]] = []
    for is_mapped, start, size, stream in db.execute(_MAPPED, chosen).fetchall():
        pieces = _without(pieces, start, start + size)
        if is_mapped and size > 0:
            pieces.append((start, start + size, stream))
    pieces.sort()
    held: list[list[tuple[int, int, int]]] = [[] for _ in pieces]
    starts = [start for start, _, _ in pieces]
    live = live_blocks(db, profile_id=profile_id, device=device, at_ns=at_ns)
    for place, (address, size, *_) in enumerate(live.fetchall()):
        if address is None or not address.isdecimal():
            continue
        first, last = int(address), int(address) + size
        at = max(bisect_right(starts, first) - 1, 0)
        while at < len(pieces) and pieces[at][0] < last:
            low, high = max(first, pieces[at][0]), min(last, pieces[at][1])
            if low < high:
                held[at].append((low, high - low, place))
            at += 1
    return [
        Segment(start, end - start, stream, sorted(blocks), _gaps(start, end, sorted(blocks)))
        for (start, end, stream), blocks in zip(pieces, held, strict=True)
    ]


def _without(pieces: list[tuple[int, int, str]], low: int, high: int) -> list[tuple[int, int, str]]:
    kept = []
    for start, end, stream in pieces:
        if end <= low or start >= high:
            kept.append((start, end, stream))
            continue
        kept += [(a, b, stream) for a, b in ((start, low), (high, end)) if a < b]
    return kept


def _gaps(start: int, end: int, blocks: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    gaps, reached = [], start
    for address, size, _ in blocks:
        if address > reached:
            gaps.append((reached, address - reached))
        reached = max(reached, address + size)
    return [*gaps, (reached, end - reached)] if reached < end else gaps
