"""Answer one request on a table: which rows, in which order, of which ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ascend_sn.errors import UnknownNameError, UsageError
from ascend_sn.insight.answers import LANGUAGES
from ascend_sn.insight.tables.definition import MERGED, PageTable, Unit, unit_of

__all__ = ["MOST_ROWS", "Asked", "Shown", "asked_of", "query_of"]

MOST_ROWS: Final = 1_000
"""Rows of one answer."""

_ROWS: Final = 100
_COMPARED: Final = ("calls", "total_ns", "device_ns", "mean_ns", "mean_device_ns")
_KNOWN: Final = ("sort", "descending", "from", "count", "contains", "profile", "against", "merged", "format", "lang")


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a request asks of a table.

    Attributes:
        sort: Column to sort by; empty: the order of the table.
        descending: Largest first.
        start: Rows to pass over.
        count: Rows to return.
        contains: Text that a row must hold.
        profile: Only this profile.
        against: Compare `profile` with this one, row by row.
        merged: Sum the ranks; for tables with keys.
        filters: Values of the table's own filters.
    """

    sort: str = ""
    descending: bool = False
    start: int = 0
    count: int = _ROWS
    contains: str = ""
    profile: int | None = None
    against: int | None = None
    merged: bool = False
    filters: dict[str, int | str] = {}


class Shown(msgspec.Struct, frozen=True):
    """A column of the answer."""

    name: str
    unit: Unit


class Query(msgspec.Struct, frozen=True):
    """The SQL of an answer on a source, what it counts, its parameters and its columns."""

    rows: str
    count: str
    parameters: dict[str, Any]
    columns: list[Shown]


def asked_of(table: PageTable, given: Mapping[str, str]) -> Asked:
    """Read the parameters of a request.

    Raises:
        UnknownNameError: A parameter that the table does not have.
        UsageError: A value that is none, or a combination without meaning.
    """
    known = {one.name: one for one in table.filters}
    if given.get("lang", LANGUAGES[0]) not in LANGUAGES:
        raise UsageError(f"lang must be one of {', '.join(LANGUAGES)}")
    for name in given:
        if name not in known and name not in _KNOWN:
            raise UnknownNameError("parameter", name, (*_KNOWN, *known), None)
    filters: dict[str, int | str] = {
        name: _whole(name, given[name]) if one.type == "integer" else given[name]
        for name, one in known.items()
        if name in given
    }
    asked = Asked(
        sort=given.get("sort", ""),
        descending=_switched("descending", given),
        start=_whole("from", given.get("from", "0"), low=0),
        count=min(MOST_ROWS, _whole("count", given.get("count", str(_ROWS)), low=0)),
        contains=given.get("contains", ""),
        profile=_whole("profile", given["profile"]) if "profile" in given else None,
        against=_whole("against", given["against"]) if "against" in given else None,
        merged=_switched("merged", given),
        filters=filters,
    )
    if (asked.merged or asked.against is not None) and not table.keys:
        raise UsageError(f"rows of {table.name} cannot be matched between ranks")
    if asked.against is not None and asked.profile is None:
        raise UsageError("against needs a profile")
    return asked


def query_of(table: PageTable, source: str, asked: Asked) -> Query:
    """Return the query of an answer.

    Args:
        table: The table.
        source: A relation with its rows, `origin_ns` among the columns where it has `profile_id`.
        asked: What is asked.

    Raises:
        UnknownNameError: An unknown column to sort by.
    """
    parameters: dict[str, Any] = dict(asked.filters)
    conditions = [one.condition for one in table.filters if one.name in asked.filters]
    if asked.contains and table.search:
        parameters["contains"] = asked.contains
        places = [f"contains(lower({_quoted(one)}), lower($contains))" for one in table.search]
        places += [table.search_also] if table.search_also else []
        conditions.append(f"({' or '.join(places)})")
    if asked.against is not None:
        parameters |= {"profile": asked.profile, "against": asked.against}
        body, names, order = _compared(table, source, conditions)
    else:
        if asked.profile is not None and "profile_id" in table.columns:
            parameters["profile"] = asked.profile
            conditions.append("profile_id = $profile")
        body, names, order = _merged(table, source, conditions) if asked.merged else _plain(table, source, conditions)
    if asked.sort:
        if asked.sort not in names:
            raise UnknownNameError("column", asked.sort, tuple(names), None)
        direction = "desc" if asked.descending else "asc"
        order = f"{_quoted(asked.sort)} {direction} nulls last, {order}"
    return Query(
        rows=f"{body} order by {order}",
        count=f"select count(*) from ({body})",
        parameters=parameters,
        columns=[Shown(name, _unit(name)) for name in names],
    )


def _plain(table: PageTable, source: str, conditions: list[str]) -> tuple[str, list[str], str]:
    chosen = [
        f"{_quoted(name)} - origin_ns as {_quoted(name)}" if unit_of(name) == "at_ns" else _quoted(name)
        for name in table.columns
    ]
    rows = f"{source} source {table.joined}".rstrip()
    return f"select {', '.join(chosen)} from {rows}{_where(conditions)}", list(table.columns), table.order


def _merged(table: PageTable, source: str, conditions: list[str]) -> tuple[str, list[str], str]:
    """One row per key; shares are of the sum of all rows."""
    figures = {name: MERGED[name] for name in table.columns if name in MERGED}
    if table.share_of and "share_ratio" in table.columns:
        part = f"sum({table.share_of})"
        figures["share_ratio"] = f"{part} / nullif(sum({part}) over (), 0)::double"
    names = [name for name in table.columns if name in table.keys or name in figures]
    chosen = [f"{figures[name]} as {_quoted(name)}" if name in figures else _quoted(name) for name in names]
    keys = ", ".join(map(_quoted, table.keys))
    body = f"select {', '.join(chosen)} from {source} source{_where(conditions)} group by {keys}"
    return f"select * from ({body})", names, table.order


def _compared(table: PageTable, source: str, conditions: list[str]) -> tuple[str, list[str], str]:
    """The same keys of two ranks beside each other; a figure that one rank lacks is null, and so is the difference."""
    measures = [name for name in _COMPARED if name in table.columns]
    keys = ", ".join(map(_quoted, table.keys))
    sums = ", ".join(f"{MERGED[name]} as {name}" for name in measures)

    def side(parameter: str) -> str:
        where = _where([*conditions, f"profile_id = ${parameter}"])
        return f"(select {keys}, {sums} from {source} source{where} group by {keys})"

    matched = " and ".join(f"one.{_quoted(key)} is not distinct from other.{_quoted(key)}" for key in table.keys)
    names = list(table.keys)
    chosen = [f"coalesce(one.{_quoted(key)}, other.{_quoted(key)}) as {_quoted(key)}" for key in table.keys]
    for name in measures:
        names += [name, f"other_{name}", f"more_{name}"]
        chosen += [f"one.{name}", f"other.{name} as other_{name}", f"other.{name} - one.{name} as more_{name}"]
    main = next(name for name in measures if name != "calls")
    body = f"select {', '.join(chosen)} from {side('profile')} one full join {side('against')} other on {matched}"
    return f"select * from ({body})", names, f"abs(more_{main}) desc nulls first, {keys}"


def _unit(name: str) -> Unit:
    return unit_of(name.removeprefix("other_").removeprefix("more_"))


def _where(conditions: list[str]) -> str:
    return f" where {' and '.join(conditions)}" if conditions else ""


def _quoted(name: str) -> str:
    return f'"{name}"'


def _switched(name: str, given: Mapping[str, str]) -> bool:
    text = given.get(name, "0").lower()
    if text not in ("0", "1", "false", "true"):
        raise UsageError(f"{name} is 0 or 1, not {text[:40]!r}")
    return text in ("1", "true")


def _whole(name: str, text: str, *, low: int | None = None) -> int:
    try:
        number = int(text)
    except ValueError as error:
        raise UsageError(f"{name} is no whole number: {text[:40]!r}") from error
    if low is not None and number < low:
        raise UsageError(f"{name} is at least {low}, not {number}")
    if abs(number) >= 1 << 63:
        raise UsageError(f"{name} is too large")
    return number
