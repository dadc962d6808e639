"""Spans that are the operators of their capture, row by row: what the operators say is not stored twice.

A capture without a framework has its marked ranges as operators. Their names and times take most of the bytes of
both tables, so the file of such spans leaves them out, and the table `span` takes them from `operator`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ascend_sn.model.rows import NOT_COLLECTED, Nullable, Rows, Text

__all__ = ["MANY_SPANS", "REPEATING_PART", "with_repeated", "without_repeated"]

REPEATING_PART: Final = "part-operators.parquet"
"""Name of a file of spans whose other columns are in `operator`."""

MANY_SPANS: Final = 10_000
"""Fewer are kept whole: they take no room, and to open them this way costs a millisecond more."""

_REPEATED: Final = ("name", "thread", "ts_ns", "dur_ns", "depth")


def without_repeated(tables: Mapping[str, Rows]) -> Rows | None:
    """Return the spans without the columns that the operators repeat; None where these are other rows, or few."""
    spans, operators = tables.get("span"), tables.get("operator")
    if spans is None or operators is None or len(spans) < MANY_SPANS or len(spans) != len(operators):
        return None
    numbers = np.arange(len(spans))
    if not (_same(spans.columns["span_id"], numbers) and _same(operators.columns["operator_id"], numbers)):
        return None
    if not all(_same(spans.columns[name], operators.columns[name]) for name in _REPEATED):
        return None
    return spans.replace(**dict.fromkeys(_REPEATED, NOT_COLLECTED))


def with_repeated(spans: str) -> str:
    """Return the SELECT that completes such spans, in the order of their files.

    Args:
        spans: A SELECT of all columns of the incomplete ones; `operator` has to be visible.
    """
    replaced = ", ".join(f"whole.{name} as {name}" for name in _REPEATED)
    return (
        f"select bare.* replace ({replaced}) from ({spans}) as bare join operator as whole "
        "on whole.profile_id = bare.profile_id and whole.operator_id = bare.span_id "
        "order by bare.profile_id, bare.span_id"
    )


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, Text):
        return isinstance(other, Text) and (
            (one.values == other.values and np.array_equal(one.codes, other.codes)) or one.decode() == other.decode()
        )
    if isinstance(one, Nullable) or isinstance(other, Nullable):
        return False
    return bool(np.array_equal(one, other))
