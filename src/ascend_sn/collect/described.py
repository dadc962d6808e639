"""Spans about which more is known than the name: their class, and what a collective moves."""

from __future__ import annotations

from ascend_sn.model.trace_schema import DEFAULT_GROUP, NOT_GIVEN, SPAN, SPAN_CLASSES, SPAN_COMMUNICATION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ascend_sn.collect.faults import FaultLog
    from ascend_sn.collect.recorder import Recorder

__all__ = ["begin_described"]

_KIND_OF_CLASS = dict(SPAN_CLASSES)


def begin_described(
    recorder: Recorder,
    faults: FaultLog,
    name: str,
    kind: str | None,
    *,
    size_bytes: int | None,
    group: str | None,
    op: str | None,
    ranks: Sequence[int] | None,
    dtype: str | None,
    sequence: int | None,
) -> None:
    """Open a span with attributes; they are stored once per distinct combination, beside the name."""
    row_kind = SPAN if kind is None else _KIND_OF_CLASS.get(kind)
    if row_kind is None:
        known = ", ".join(_KIND_OF_CLASS)
        faults.warning("unknown kind", f"start_op({name!r}, kind={kind!r}): the kinds are {known}")
        row_kind = SPAN
    if row_kind == SPAN_COMMUNICATION and sequence is None:
        sequence = recorder.next_sequence(DEFAULT_GROUP if group is None else group)
    attributes: dict[str, object] = {}
    if group is not None:
        attributes["group"] = str(group)
    if op is not None:
        attributes["op"] = str(op)
    if ranks is not None:
        attributes["ranks"] = tuple(int(rank) for rank in ranks)
    if dtype is not None:
        attributes["dtype"] = str(dtype)
    recorder.begin(
        name,
        row_kind,
        recorder.names.described(name, attributes) if attributes else recorder.names.number(name),
        NOT_GIVEN if size_bytes is None else int(size_bytes),
        NOT_GIVEN if sequence is None else int(sequence),
    )
