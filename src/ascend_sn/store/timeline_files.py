"""Files of a timeline: what lies where, written lane by lane and read through memory maps.

`timeline/meta.json` lists profiles and tracks, `names.bin` holds every name once. `profile=<id>/` holds flat arrays in
which one segment follows the other; a segment is one depth of one track. Times are ns from the profile's origin. Of a
slice 16 bytes are its range, 4 its name, 1 its kind, 4 (8 where ids are large) the key of its row; the levels above
add 3.2, and lanes of more than one depth 8 for self time. A slice is named by its place in the segment.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from ascend_sn._native.pyramid import FACTOR, Levels, build, highest_levels
from ascend_sn.errors import StoreError
from ascend_sn.store.sealed import BrokenSealError, decoded
from ascend_sn.store.timeline_lanes import Side

__all__ = [
    "META_NAME", "NO_KEY", "NO_PLACE", "TIMELINE_VERSION", "Arrays", "Meta", "ProfileMeta", "ProfileWriter", "Segment",
    "TimelineFiles", "Track", "write_names",
]  # fmt: skip

TIMELINE_VERSION: Final = 4
"""Version of these files; others are built anew, as all that they hold comes from the tables."""

META_NAME: Final = "meta.json"
NO_KEY: Final = -1
NO_PLACE: Final = -1

_NAMES: Final = "names.bin"
_NAME_OFFSETS: Final = "names.i64"
_DAMAGED: Final = "the timeline is damaged; remove its folder, and it is laid out anew"
_SUMMED_BYTES: Final = 64 << 20
"""Bytes of a profile that are summed when it is first looked at, 2 GB a second; of a larger one the first files."""

_OPEN_PROFILES: Final = 48
"""Profiles whose files are mapped at a time: each takes twelve file descriptors."""

Int64Array = NDArray[np.int64]


class Track(msgspec.Struct, frozen=True):
    """One lane with all its depths; `group` and `label` tell it apart from others of its table."""

    track: int
    side: Side
    table: str
    group: str | None
    label: str | None
    unit: str | None
    depths: int
    slice_count: int
    first_segment: int


class ProfileMeta(msgspec.Struct, frozen=True):
    """One profile; its times count from `origin_ns` of its own clock. `sums` holds the CRC-32 of each array."""

    profile_id: int
    origin_ns: int
    dur_ns: int
    small_keys: bool
    tracks: list[Track]
    sums: dict[str, int]


class Meta(msgspec.Struct, frozen=True):
    """The whole timeline; `names_sum` is the CRC-32 of the files of its names, one behind the other."""

    version: int
    kinds: list[str]
    name_count: int
    slice_count: int
    profiles: list[ProfileMeta]
    names_sum: int


class Segment(NamedTuple):
    """Where one depth of one track lies in the arrays of its profile.

    Attributes:
        base: First place in `start` and `end`.
        upper: First place in `busy`, `count`, `longest` and `length`.
        slices: Number of slices.
        place: First place in `name`, `kind` and `key`.
        self_place: First place in `self_ns`; NO_PLACE where self time is the duration.
        value: First place in `value`; NO_PLACE where it is no counter.
    """

    base: int
    upper: int
    slices: int
    place: int
    self_place: int
    value: int


@dataclass(frozen=True, eq=False)
class Arrays:
    """The arrays of one profile, memory-mapped; see `_native.pyramid` for the first six."""

    start: Int64Array
    end: Int64Array
    busy: Int64Array
    count: Int64Array
    longest: Int64Array
    length: Int64Array
    name: NDArray[np.uint32]
    kind: NDArray[np.uint8]
    key: NDArray[Any]
    self_ns: Int64Array
    value: NDArray[np.float64]
    segments: Int64Array

    @property
    def levels(self) -> Levels:
        """What `_native.pyramid.views` reads."""
        return self.start, self.end, self.busy, self.count, self.longest, self.length

    def segment(self, number: int) -> Segment:
        """Return where a segment lies."""
        return Segment(*self.segments[number].tolist())


_FILES: Final = {
    "start": "i8", "end": "i8", "busy": "i8", "count": "i8", "longest": "i8", "length": "i8",
    "name": "u4", "kind": "u1", "key": "i8", "self_ns": "i8", "value": "f8", "segments": "i8",
}  # fmt: skip


class ProfileWriter:
    """Writes the arrays of one profile, one segment after the other; use it in a `with` statement."""

    def __init__(self, folder: Path, *, small_keys: bool) -> None:
        folder.mkdir(parents=True)
        self._types = _types(small_keys=small_keys)
        self._files = {name: (folder / f"{name}.bin").open("wb", buffering=1 << 20) for name in self._types}
        self._lengths = dict.fromkeys(self._types, 0)
        self.segment_count = 0
        self.sums = dict.fromkeys(self._types, 0)

    def __enter__(self) -> ProfileWriter:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    def slices(
        self,
        start: Int64Array,
        end: Int64Array,
        name: NDArray[Any],
        kind: NDArray[Any],
        key: NDArray[Any],
        self_ns: Int64Array | None = None,
    ) -> None:
        """Write slices that come by start and do not overlap, as one segment."""
        self._segment(start, end, self_ns is not None, is_counter=False)
        self._pyramid(start, end)
        self._put(name=name, kind=kind, key=key)
        if self_ns is not None:
            self._put(self_ns=self_ns)

    def points(self, start: Int64Array, end: Int64Array, value: NDArray[np.float64], name: int, kind: int) -> None:
        """Write the points of a curve, each with the time until the next, as one segment."""
        count = len(start)
        self._segment(start, end, False, is_counter=True)
        self._pyramid(start, end)
        self._put(name=np.full(count, name), kind=np.full(count, kind), key=np.full(count, NO_KEY))
        self._put(value=highest_levels(value))

    def _segment(self, start: Int64Array, end: Int64Array, has_self: bool, *, is_counter: bool) -> None:
        at = self._lengths
        place = Segment(
            base=at["start"],
            upper=at["busy"],
            slices=len(start),
            place=at["name"],
            self_place=at["self_ns"] if has_self else NO_PLACE,
            value=at["value"] if is_counter else NO_PLACE,
        )
        self._put(segments=np.array(place, np.int64))
        self.segment_count += 1

    def _pyramid(self, start: Int64Array, end: Int64Array) -> None:
        made = build(start, end)
        self._put(start=made.start, end=made.end)
        self._put(busy=made.busy, count=made.count, longest=made.longest, length=made.length)

    def _put(self, **arrays: NDArray[Any]) -> None:
        for name, values in arrays.items():
            written = np.ascontiguousarray(values.astype(self._types[name], copy=False)).data.cast("B")
            self._files[name].write(written)
            self.sums[name] = crc32(written, self.sums[name])
            self._lengths[name] += len(values)


class TimelineFiles:
    """A timeline on disk, for many readers at once.

    Attributes:
        folder: Where it lies.
        meta: What it holds.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self.meta = decoded(folder / META_NAME, Meta)
            self._names, offsets = ((folder / name).read_bytes() for name in (_NAMES, _NAME_OFFSETS))
        except (OSError, BrokenSealError) as error:
            raise StoreError(folder, f"the timeline cannot be read: {error}") from error
        if crc32(offsets, crc32(self._names)) != self.meta.names_sum:
            raise StoreError(folder / _NAMES, _DAMAGED)
        self._offsets = np.frombuffer(offsets, np.int64)
        self.profiles = {profile.profile_id: profile for profile in self.meta.profiles}
        self._open: OrderedDict[int, Arrays] = OrderedDict()
        self._lock = Lock()
        self._summed: set[int] = set()

    @staticmethod
    def is_whole(folder: Path) -> bool:
        """Whether a timeline of this version lies there, with the files of every profile."""
        try:
            found = decoded(folder / META_NAME, _Whole)
        except (OSError, BrokenSealError):
            return False
        is_named = (folder / _NAMES).is_file() and (folder / _NAME_OFFSETS).is_file()
        return (
            found.version == TIMELINE_VERSION
            and is_named
            and all(
                (folder / f"profile={profile.profile_id}" / f"{name}.bin").is_file()
                for profile in found.profiles
                for name in _FILES
            )
        )

    def arrays(self, profile_id: int) -> Arrays:
        """Return the arrays of a profile."""
        with self._lock:
            known = self._open.get(profile_id)
            if known is None:
                known = self._mapped(self.profiles[profile_id])
                self._open[profile_id] = known
                if len(self._open) > _OPEN_PROFILES:
                    self._open.popitem(last=False)  # its maps go when the last reader does
            else:
                self._open.move_to_end(profile_id)
        return known

    def name(self, number: int) -> str:
        """Return a name by its number; an empty one where a damaged file tells a number that is none."""
        return next(iter(self.names(number, number + 1)), "")

    def kind(self, number: int) -> str:
        """Return a kind by its number; `other` where a damaged file tells a number that is none."""
        return self.meta.kinds[number] if number < len(self.meta.kinds) else "other"

    def names(self, first: int, past: int) -> list[str]:
        """Return names by number."""
        bounds = self._offsets[first : past + 1].tolist()
        return [self._names[a:b].decode("utf-8", "replace") for a, b in pairwise(bounds)]

    def _mapped(self, profile: ProfileMeta) -> Arrays:
        folder = self.folder / f"profile={profile.profile_id}"
        found: dict[str, NDArray[Any]] = {}
        left = _SUMMED_BYTES if profile.profile_id not in self._summed else 0
        for name, type_ in _types(small_keys=profile.small_keys).items():
            path = folder / f"{name}.bin"
            try:
                empty = path.stat().st_size == 0
                # As a plain array: every operation on a memmap object costs a microsecond more.
                found[name] = np.empty(0, type_) if empty else np.asarray(np.memmap(path, type_, mode="r"))
            except (OSError, ValueError) as error:
                raise StoreError(path, f"the timeline cannot be read: {error}") from error
            left -= found[name].nbytes
            if left > 0 and crc32(found[name].data) != profile.sums.get(name):
                raise StoreError(path, _DAMAGED)
        self._summed.add(profile.profile_id)
        whole = len(found["segments"]) // len(Segment._fields) * len(Segment._fields)
        found["segments"] = np.array(found["segments"][:whole]).reshape(-1, len(Segment._fields))
        arrays = Arrays(**found)
        if not _fits(arrays, profile):
            raise StoreError(folder, _DAMAGED)
        return arrays


def _fits(arrays: Arrays, profile: ProfileMeta) -> bool:
    """Whether every segment lies inside the arrays: a run folder may come from anywhere."""
    base, upper, slices, place, own, value = arrays.segments.T
    if any(not 0 <= track.first_segment <= len(slices) - track.depths or track.depths < 1 for track in profile.tracks):
        return False
    nodes, size = slices.copy(), slices.copy()
    while bool((size > 1).any()):
        size = np.where(size > 1, (size + FACTOR - 1) // FACTOR, 0)
        nodes += size
    columns = (
        (base, nodes, (arrays.start, arrays.end)),
        (upper, nodes - slices, (arrays.busy, arrays.count, arrays.longest, arrays.length)),
        (place, slices, (arrays.name, arrays.kind, arrays.key)),
        (own, np.where(own == NO_PLACE, 0, slices), (arrays.self_ns,)),
        (value, np.where(value == NO_PLACE, 0, nodes), (arrays.value,)),
    )
    return bool((slices >= 0).all()) and all(
        bool(((first >= 0) | (first == NO_PLACE) & (count == 0)).all() and (first <= len(column) - count).all())
        for first, count, held in columns
        for column in held
    )


class _Whole(msgspec.Struct, frozen=True):
    """What tells whether a timeline is whole."""

    version: int
    profiles: list[_Numbered] = []


class _Numbered(msgspec.Struct, frozen=True):
    profile_id: int


def _types(*, small_keys: bool) -> dict[str, Any]:
    """The little-endian types of the arrays."""
    return {name: np.dtype("<u4" if name == "key" and small_keys else f"<{type_}") for name, type_ in _FILES.items()}


def write_names(folder: Path, names: list[str]) -> int:
    """Write all names of a timeline, in order of their numbers; return the sum of their files."""
    encoded = [name.encode("utf-8", "replace") for name in names]
    offsets = np.zeros(len(names) + 1, np.int64)
    np.cumsum([len(name) for name in encoded], out=offsets[1:])
    joined = b"".join(encoded)
    (folder / _NAMES).write_bytes(joined)
    (folder / _NAME_OFFSETS).write_bytes(offsets.tobytes())
    return crc32(offsets.tobytes(), crc32(joined))
