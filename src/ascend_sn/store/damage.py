"""Damage that shows only when the tables of a run are used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from ascend_sn.errors import FormatError, StoreError
from ascend_sn.store.run import Run

__all__ = ["told_damage"]


@contextmanager
def told_damage(run: Run) -> Iterator[None]:
    """Say in one line what is wrong with the tables of a run that is being analysed.

    Raises:
        StoreError: A table is damaged inside.
        FormatError: Numbers of the input are so large that they cannot be added up.
    """
    try:
        yield
    except (duckdb.IOException, duckdb.InvalidInputException) as error:
        raise StoreError(run.path, f"a table cannot be read: {str(error).splitlines()[0]}") from error
    except (duckdb.ConversionException, duckdb.OutOfRangeException) as error:
        told = f"numbers in it are too large to be added up ({str(error).splitlines()[0]})"
        raise FormatError(run.input.paths[0], told) from error
