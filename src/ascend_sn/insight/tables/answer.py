"""The tables of one run: worked out when they are first asked for, then kept."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import IO, Any, Final
from weakref import WeakKeyDictionary

import duckdb
import msgspec

from ascend_sn.analysis import BY_NAME as ANALYSES
from ascend_sn.analysis.registry import Missing, is_summarised
from ascend_sn.errors import UnknownNameError
from ascend_sn.insight.ranks import OneByOne, Part
from ascend_sn.insight.tables import BY_NAME
from ascend_sn.insight.tables.definition import PageTable, Slices
from ascend_sn.insight.tables.query import Asked, Shown, asked_of, query_of
from ascend_sn.insight.tables.sources import Sources, unreadable
from ascend_sn.model.printable import harmless
from ascend_sn.store import Run

__all__ = ["Answer", "LookedInto", "RunTables"]

_MOST_LINES: Final = 1_000_000
_BATCH: Final = 10_000
_IN_MEMORY: Final = 1 << 20
_BYTE_ORDER_MARK: Final = "\ufeff"
_SAFE: Final = 1 << 53
_STACKS: Final = "frames"


class Answer(msgspec.Struct, kw_only=True):
    """Rows of a table.

    Attributes:
        table: Its name.
        columns: Names and units.
        rows: Values in the order of the columns; whole numbers beyond 2^53 are texts.
        row_count: Rows of the whole answer, of which `rows` are a part.
        slices: What the rows stand for on the timeline, with the columns of profile and key; null where nothing.
        looked_into: Of how many profiles the rows are, where only some of a large job are looked into; else null.
        state: `collected`, else why there are no rows: `reason` in words, `turn_on` the option that collects it.
    """

    table: str
    columns: list[Shown]
    rows: list[list[Any]]
    row_count: int
    slices: dict[str, str] | None = None
    looked_into: LookedInto | None = None
    state: str = "collected"
    reason: str = ""
    turn_on: str = ""


class LookedInto(msgspec.Struct, frozen=True):
    """Of how many profiles of a large job the rows are."""

    profiles: int
    of: int


class RunTables:
    """The tables of a run: worked out one at a time, read by as many threads as ask.

    Rows of a large job come from its summaries where these tell them; else from the tables of the profile that is
    asked for, or of those that are looked into in detail, which the answer then says.
    """

    def __init__(
        self, across: Part, origins: Mapping[int, int] | None = None, one_by_one: OneByOne | None = None
    ) -> None:
        """Work nothing out yet.

        Args:
            across: All profiles.
            origins: Begin of each profile, ns; where absent, that of its first record.
            one_by_one: The profiles of a job that `across` knows by its summaries.
        """
        self._across = across
        self._origins = origins
        self._one_by_one = one_by_one
        self._making = Lock()
        self._sources: WeakKeyDictionary[Part, Sources] = WeakKeyDictionary()

    def answer(self, name: str, given: Mapping[str, str]) -> Answer:
        """Return a page of a table.

        Raises:
            UnknownNameError: No such table, column or parameter.
            UsageError: A parameter without meaning.
        """
        table = _table(name)
        asked = self._asked(table, given)
        part = self._part(table, asked)
        cursor, source = self._sources_of(part).rows(table)
        with cursor:
            if isinstance(source, Missing):
                return _absent(table, source)
            query = query_of(table, source, asked)
            limit = f"{query.rows} limit {asked.count} offset {asked.start}"
            try:
                rows = cursor.execute(limit, query.parameters).fetchall()
                ((row_count,),) = cursor.execute(query.count, query.parameters).fetchall()
            except duckdb.Error as error:
                raise unreadable(part.run, error) from error
        return Answer(
            table=name,
            columns=query.columns,
            rows=[[_plain(value) for value in row] for row in rows],
            row_count=row_count,
            slices=_slices(table.slices, {column.name for column in query.columns}),
            looked_into=self._looked_into(table, part),
        )

    def csv(self, name: str, given: Mapping[str, str]) -> IO[bytes]:
        """Return all rows of a table as CSV, a million at most, in a file that vanishes when it is closed.

        No cell begins like a formula of a spreadsheet; frames of a stack are parted by bars. Raises what `answer`
        raises.
        """
        table = _table(name)
        asked = self._asked(table, given)
        file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - the caller closes it
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        text.write(_BYTE_ORDER_MARK)
        writer = csv.writer(text, lineterminator="\n")
        part = self._part(table, asked)
        cursor, source = self._sources_of(part).rows(table)
        with cursor:
            if isinstance(source, Missing):
                writer.writerow(table.columns)
            else:
                query = query_of(table, source, asked)
                names = [column.name for column in query.columns]
                stacks = [at for at, column in enumerate(names) if column == _STACKS]
                writer.writerow(names)
                try:
                    cursor.execute(f"{query.rows} limit {_MOST_LINES}", query.parameters)
                    while batch := cursor.fetchmany(_BATCH):
                        writer.writerows(map(harmless, _in_one_line(row, stacks)) for row in batch)
                except duckdb.Error as error:
                    raise unreadable(part.run, error) from error
        text.detach()
        file.seek(0)
        return file

    def _asked(self, table: PageTable, given: Mapping[str, str]) -> Asked:
        asked = asked_of(table, given)
        for name, profile in (("profile", asked.profile), ("against", asked.against)):
            if profile is not None and self._origins is not None and profile not in self._origins:
                raise UnknownNameError(name, str(profile), tuple(map(str, self._origins)), None)
        return asked

    def use(self, work: Callable[[Run], Any], *, of: int) -> Any:
        """Work on a run in which a profile is, while nobody else does."""
        part = self._across
        if self._one_by_one is not None and (self._origins is None or of in self._origins):
            part = self._one_by_one.opened(of)
        return self._sources_of(part).use(work)

    def _part(self, table: PageTable, asked: Asked) -> Part:
        """Return what holds the rows: everything, or the profiles that are asked for alone."""
        chosen = [one for one in (asked.profile, asked.against) if one is not None]
        if self._one_by_one is None or not chosen or self._is_summed(table):
            return self._across
        return self._one_by_one.opened(*chosen)

    def _is_summed(self, table: PageTable) -> bool:
        """Say whether the summaries of a large job tell the rows of all its profiles."""
        if not table.analysis:
            return table.is_summed
        with self._across.lock:
            return is_summarised(ANALYSES[table.analysis], self._across.run.db)

    def _looked_into(self, table: PageTable, part: Part) -> LookedInto | None:
        detailed = part.run.detailed
        if detailed is None or self._is_summed(table):
            return None
        profiles = len(part.run.manifest.profiles) if self._origins is None else len(self._origins)
        return LookedInto(len(detailed), profiles)

    def _sources_of(self, part: Part) -> Sources:
        with self._making:
            if part not in self._sources:
                self._sources[part] = Sources(part, self._origins)
            return self._sources[part]


def _table(name: str) -> PageTable:
    if name not in BY_NAME:
        raise UnknownNameError("table", name, tuple(BY_NAME), None)
    return BY_NAME[name]


def _absent(table: PageTable, missing: Missing) -> Answer:
    # The table itself came, the column that is needed did not.
    state = "missing" if missing.state == "collected" else missing.state
    return Answer(
        table=table.name, columns=[], rows=[], row_count=0,
        state=state, reason=missing.reason, turn_on=missing.turn_on,
    )  # fmt: skip


def _slices(slices: Slices | None, shown: set[str]) -> dict[str, str] | None:
    if slices is None or not {"profile_id", slices.key} <= shown:
        return None
    return {"table": slices.table, "profile": "profile_id", "key": slices.key}


def _in_one_line(row: tuple[Any, ...], stacks: Sequence[int]) -> Sequence[Any]:
    return (
        row
        if not stacks
        else [cell.replace("\n", " | ") if at in stacks and cell is not None else cell for at, cell in enumerate(row)]
    )


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, int) and abs(value) >= _SAFE else value
