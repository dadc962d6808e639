"""What the compiled scanner hands out, in the words of the plain reader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ascend_sn._native.trace_scan import TraceColumns
from tests.reference import chrome_trace as reference


def rows(blocks: Iterable[TraceColumns]) -> Iterator[reference.Event]:
    for block in blocks:
        for i in range(block.count):
            event = reference.Event(int(block.offset[i]), int(block.ph[i]), int(block.s[i]), int(block.bp[i]))
            event.ts = int(block.ts_ns[i]) if block.has_ts[i] else None
            event.dur = int(block.dur_ns[i]) if block.has_dur[i] else None
            event.texts = {name: text_of(block, getattr(block, name)[i]) for name in reference.FIELDS}
            event.other_args = text_of(block, block.other_args[i])
            for key, column in block.args.items():
                if column.kind[i]:
                    number = float(column.number[i])
                    event.args[key] = reference.Arg(
                        int(column.kind[i]),
                        text_of(block, column.code[i]),
                        int(column.value[i]),
                        number if column.kind[i] in (2, 3, 4) else None,
                    )
            yield event


def text_of(block: TraceColumns, code: np.int32) -> str | None:
    return None if code < 0 else block.strings[int(code)]


def counted(damage: Iterable[tuple[str, int, int, str]]) -> dict[str, tuple[int, int]]:
    result = reference.Result()
    for kind, offset, count, _ in damage:
        for _ in range(count):
            result.note(kind, offset)
    return result.damage


def comparable(events: list[reference.Event]) -> str:
    # Through text: NaN is then equal to NaN, and -0.0 differs from 0.0.
    for event in events:
        event.args = dict(sorted(event.args.items()))
    return "\n".join(map(repr, events))
