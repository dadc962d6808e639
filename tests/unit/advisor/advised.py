"""One rule on a drawing."""

from __future__ import annotations

from collections.abc import Iterable

from duckdb import DuckDBPyConnection

from ascend_sn.advisor.advise import advise
from ascend_sn.advisor.finding import Advice, Finding
from ascend_sn.advisor.thresholds import Thresholds
from tests.unit.report.drawn import DrawnRun

__all__ = ["advised", "found", "suppressed"]


def advised(db: DuckDBPyConnection, *codes: str, thresholds: Iterable[str] = ()) -> Advice:
    """Return what some rules say of the tables of a connection; thresholds as on the command line."""
    in_force = Thresholds.of_package().with_options(thresholds)
    return advise(DrawnRun(db), codes=codes, thresholds=in_force)


def found(db: DuckDBPyConnection, code: str, *, thresholds: Iterable[str] = ()) -> Finding | None:
    """Return the first finding of a rule."""
    return next(iter(advised(db, code, thresholds=thresholds).findings), None)


def suppressed(db: DuckDBPyConnection, code: str, *, thresholds: Iterable[str] = ()) -> list[str]:
    """Return why a rule holds back what it found, as message ids."""
    return [held.reason.message_id for held in advised(db, code, thresholds=thresholds).suppressed]
