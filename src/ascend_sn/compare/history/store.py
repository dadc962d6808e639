"""The history itself: record, list, show, pin, prune."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, Integer, Row, Select, delete, insert, select, type_coerce, update
from sqlalchemy.exc import IntegrityError

from ascend_sn.compare.figures import RunFigures
from ascend_sn.compare.history.database import Database
from ascend_sn.compare.history.record import Record, Verdict, figures_from, identity_of, packed, setup_of, values_of
from ascend_sn.compare.history.schema import RUN, VALUE
from ascend_sn.errors import HistoryError

__all__ = ["Added", "History"]

_SHOWN = tuple(
    # As it lies there: a damaged value would be taken for true.
    type_coerce(column, Integer).label(column.name) if column is RUN.c.pinned else column
    for column in RUN.c
    if column.name not in ("identity", "figures", "figures_version")
)


class Added(NamedTuple):
    """A recorded run, and whether it is new: the same capture is kept once."""

    record: Record
    is_new: bool


class History:
    """The runs of one database; a context manager."""

    def __init__(self, place: str) -> None:
        """Name a history: a file or a URL, see `Database`."""
        self._database = Database(place)

    @property
    def where(self) -> str:
        """Its file or URL, without password."""
        return self._database.where

    def __enter__(self) -> History:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def add(
        self,
        figures: RunFigures,
        *,
        series: str,
        now_ns: int,
        revision: str | None = None,
        branch: str | None = None,
        note: str | None = None,
        verdict: Verdict | None = None,
        pinned: bool = False,
        identity: str | None = None,
    ) -> Added:
        """Record a run.

        A capture that the series holds already is not recorded again: one run twice would look like two that agree. Of
        it the verdict is set, and what is told beside it.

        Args:
            figures: Of the run.
            series: What it is compared with.
            now_ns: Now, ns since the epoch.
            revision: Revision of the program.
            branch: Branch of the program.
            note: Anything.
            verdict: What the gate said of it; null: it counts as a baseline, whatever the gate said before.
            pinned: Whether to pin it.
            identity: What tells its capture apart (`identity_of`), where the figures do not: they hold stand-ins.
        """
        told = {"revision": revision, "branch": branch, "note": note}
        row = {
            "series": series,
            "identity": identity or identity_of(figures),
            "recorded_ns": now_ns,
            "name": figures.name,
            "verdict": verdict,
            "pinned": pinned,
            "setup": setup_of(figures),
            "tool_version": figures.tool_version,
            "figures_version": figures.version,
            "figures": packed(figures),
            **told,
        }
        with self._database.writing() as connection:
            known = _id_of(connection, series, str(row["identity"]))
            if known is None:
                try:
                    with connection.begin_nested():
                        number = connection.execute(insert(RUN).values(row).returning(RUN.c.id)).scalar_one()
                    values = [{"run_id": number, "metric": k, "value": v} for k, v in values_of(figures).items()]
                    if values:
                        connection.execute(insert(VALUE), values)
                    return Added(_one(connection, number, self.where), True)
                except IntegrityError:  # another writer was faster
                    known = _id_of(connection, series, str(row["identity"]))
            changed: dict[str, object] = {
                "verdict": verdict,
                **{name: value for name, value in told.items() if value is not None},
            }
            if pinned:
                changed["pinned"] = True
            connection.execute(update(RUN).where(RUN.c.id == known).values(changed))
            return Added(_one(connection, int(known or 0), self.where), False)

    def records(self, series: str | None = None, *, newest: int | None = None) -> list[Record]:
        """Return the runs of a series (of all where none is named), the oldest first; of more the `newest`."""
        query = select(*_SHOWN).order_by(RUN.c.id.desc())
        if series is not None:
            query = query.where(RUN.c.series == series)
        with self._database.reading() as connection:
            return _records(connection, query if newest is None else query.limit(newest), self.where)[::-1]

    def series(self) -> list[str]:
        """Return the names of the series."""
        with self._database.reading() as connection:
            return list(connection.scalars(select(RUN.c.series).distinct().order_by(RUN.c.series)))

    def record(self, number: int) -> Record:
        """Return one run.

        Raises:
            HistoryError: There is none of that number.
        """
        with self._database.reading() as connection:
            return _one(connection, number, self.where)

    def figures(self, records: Iterable[Record]) -> list[RunFigures]:
        """Return the figures of runs, named by their labels, in the given order.

        Raises:
            HistoryError: They are damaged or of a newer version.
        """
        wanted = list(records)
        query = select(RUN.c.id, RUN.c.figures, RUN.c.figures_version).where(RUN.c.id.in_([one.id for one in wanted]))
        with self._database.reading() as connection:
            rows = {row.id: row for row in connection.execute(query)}
        found = []
        for one in wanted:
            row = rows.get(one.id)
            figures = None if row is None else figures_from(row.figures, row.figures_version, one.label)
            if figures is None:
                raise HistoryError(self.where, f"run #{one.id} is damaged, or of a newer ascend-sn")
            found.append(figures)
        return found

    def identities(self, records: Sequence[Record]) -> dict[int, str]:
        """Return what tells the captures of runs apart, by number."""
        query = select(RUN.c.id, RUN.c.identity).where(RUN.c.id.in_([one.id for one in records]))
        with self._database.reading() as connection:
            return {row.id: row.identity for row in connection.execute(query)}

    def pin(self, numbers: Sequence[int], *, pinned: bool) -> list[Record]:
        """Pin runs, or let them go again; all of them or, where one is not there, none.

        Raises:
            HistoryError: There is none of a number.
        """
        with self._database.writing() as connection:
            for number in numbers:
                _one(connection, number, self.where)
            connection.execute(update(RUN).where(RUN.c.id.in_(numbers)).values(pinned=pinned))
            return [_one(connection, number, self.where) for number in numbers]

    def prune(self, series: str | None, *, keep: int | None = None, before_ns: int | None = None) -> int:
        """Remove runs that are not pinned, and return how many.

        Args:
            series: Of this series; None: of each.
            keep: All but so many of the newest of each series.
            before_ns: Those recorded before; with `keep`, a run goes only where both say so.
        """
        with self._database.writing() as connection:
            query = select(RUN.c.id, RUN.c.series, RUN.c.recorded_ns, RUN.c.pinned).order_by(RUN.c.id.desc())
            seen: dict[str, int] = {}
            gone = []
            for row in connection.execute(query if series is None else query.where(RUN.c.series == series)):
                place = seen[row.series] = seen.get(row.series, 0) + 1
                is_old = before_ns is None or row.recorded_ns < before_ns
                if not row.pinned and is_old and (keep is None or place > keep):
                    gone.append(row.id)
            for table, column in ((VALUE, VALUE.c.run_id), (RUN, RUN.c.id)):
                for at in range(0, len(gone), 500):
                    connection.execute(delete(table).where(column.in_(gone[at : at + 500])))
            return len(gone)


def _id_of(connection: Connection, series: str, identity: str) -> int | None:
    return connection.scalar(select(RUN.c.id).where(RUN.c.series == series, RUN.c.identity == identity))


def _one(connection: Connection, number: int, where: str) -> Record:
    found = _records(connection, select(*_SHOWN).where(RUN.c.id == number), where)
    if not found:
        raise HistoryError(where, f"there is no run #{number}")
    return found[0]


def _records(connection: Connection, query: Select[Any], where: str) -> list[Record]:
    rows: Sequence[Row[Any]] = connection.execute(query).all()
    values: dict[int, dict[str, float]] = {row.id: {} for row in rows}
    ids = list(values)
    for at in range(0, len(ids), 500):
        known = select(VALUE).where(VALUE.c.run_id.in_(ids[at : at + 500])).order_by(VALUE.c.metric)
        for value in connection.execute(known):
            values[value.run_id][value.metric] = value.value
    return [_record(row, values[row.id], where) for row in rows]


def _record(row: Row[Any], values: dict[str, float], where: str) -> Record:
    found = {name: row._mapping[name] for name in Record.__struct_fields__ if name not in ("pinned", "values")}
    is_pinned = {0: False, 1: True}.get(row.pinned)
    try:
        return msgspec.convert({**found, "pinned": is_pinned, "values": values}, Record)
    except msgspec.ValidationError as error:
        raise HistoryError(where, f"run #{row.id} is damaged: {error}") from error
