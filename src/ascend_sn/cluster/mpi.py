"""Items over the ranks of an MPI job that was started for it: `mpiexec -n 9 python -m mpi4py.futures -m ascend_sn`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

from ascend_sn.cluster.executors import over
from ascend_sn.errors import UsageError
from ascend_sn.store.mapping import Mapping, Outcome

__all__ = ["mpi_mapping"]

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")

_PER_WORKER: Final = 2
_STARTED_BY: Final = "mpi4py.futures"


@contextmanager
def mpi_mapping() -> Iterator[Mapping]:
    """Give a mapping over the workers of `mpi4py.futures`; they must see input and results under the same names.

    Raises:
        UsageError: mpi4py is not installed, or cannot load an MPI library; or the job was not started for this.
    """
    try:
        from mpi4py.futures import MPIPoolExecutor
    except (ImportError, RuntimeError) as error:
        why = str(error).splitlines()[0]
        raise UsageError(f"MPI cannot be used ({why}); install an MPI library and: pip install mpi4py") from error
    if _STARTED_BY not in sys.orig_argv:  # a process by itself would try to start others, and may wait for ever
        raise UsageError(f"--mpi needs an MPI job: mpiexec -n N python -m {_STARTED_BY} -m ascend_sn ingest ... --mpi")
    with MPIPoolExecutor() as executor:

        def mapping(
            function: Callable[[_Item], _Made], items: Sequence[_Item], size_bytes: Sequence[int], /
        ) -> Iterator[Outcome[_Made]]:
            places = sorted(range(len(items)), key=lambda at: -size_bytes[at])
            at_once = max(executor.num_workers, 1) * _PER_WORKER
            yield from over(executor, function, items, places, at_once=at_once)

        yield mapping
