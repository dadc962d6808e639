"""`names.trace`: the texts of a trace by number; a damaged one loses names, not rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import numpy as np

from ascend_sn.errors import JsonTextError
from ascend_sn.formats.json_text import json_value
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Int64, Text

__all__ = ["Name", "Names", "Small", "read_names"]

MAX_BYTES: Final = 1 << 30


Small = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]


class Name(msgspec.Struct, frozen=True):
    """One record: a text, and what is known of the call beside it."""

    id: int
    text: str
    op: str | None = None
    group: str | None = None
    ranks: list[Small] | None = None
    dtype: str | None = None
    unit: str | None = None
    module: str | None = None
    input_shapes: str | None = None
    input_dtypes: str | None = None
    output_shapes: str | None = None
    output_dtypes: str | None = None
    category: str | None = None
    args: dict[str, str] | None = None


class Names:
    """Names by number. A number without a record gets a name that says so; `lost` collects such numbers."""

    def __init__(self, records: dict[int, Name]) -> None:
        self._records = records
        self.lost: set[int] = set()

    def record(self, number: int) -> Name:
        """Return a record."""
        found = self._records.get(number)
        if found is None:
            self.lost.add(number)
            return Name(number, f"name {number}" if number >= 0 else "further names")
        return found

    def column(self, numbers: Int64, attribute: str = "text") -> Text:
        """Return the text (or an attribute) of each number; null where the attribute is not given."""
        distinct, codes = np.unique(numbers, return_inverse=True)
        texts = [getattr(self.record(number), attribute) for number in distinct.tolist()]
        encoded = Text.of(texts)
        return Text(encoded.codes[codes], encoded.values)

    def records_of(self, numbers: Int64) -> tuple[list[Name], Int64]:
        """Return the distinct records of a column, and which of them each row has."""
        distinct, codes = np.unique(numbers, return_inverse=True)
        return [self.record(number) for number in distinct.tolist()], codes.astype(np.int64)


def read_names(path: Path, file: str, ledger: Ledger) -> Names:
    """Read the records, one JSON object a line; lines that cannot be read are counted in the ledger."""
    try:
        with path.open("rb") as stream:
            lines = stream.read(MAX_BYTES).split(b"\n")
    except OSError as error:
        ledger.add(file, "missing_names", example=f"the texts are not readable: {error.strerror}")
        return Names({})
    records: dict[int, Name] = {}
    bad: list[bytes] = []
    for line in lines[1:]:
        if not line:
            continue
        record = _record(line)
        if record is None:
            bad.append(line)
        else:
            records.setdefault(record.id, record)
    if bad:
        ledger.add(file, "unreadable_names", count=len(bad), example=bad[0].decode("utf-8", "replace"))
    return Names(records)


def _record(line: bytes) -> Name | None:
    try:
        name: Name = json_value(line, Name)
    except JsonTextError:
        return _with_lone_surrogates(line)
    return name


def _with_lone_surrogates(line: bytes) -> Name | None:
    """Read what strict JSON refuses: the escape of half a surrogate pair, as Python's undecodable bytes have it."""
    import json

    try:
        fields: Any = json.loads(line)
        if not isinstance(fields, dict):
            return None
        fields["text"] = fields["text"].encode("utf-8", "replace").decode()
        return msgspec.convert(fields, Name)
    except (ValueError, KeyError, AttributeError, RecursionError, msgspec.ValidationError):
        return None
