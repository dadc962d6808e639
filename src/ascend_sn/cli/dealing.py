"""How a command deals work out: on this machine, over a Dask cluster, or over the ranks of an MPI job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from ascend_sn.cli.command import Decorator, switch
from ascend_sn.errors import UsageError

if TYPE_CHECKING:
    from ascend_sn.store.mapping import Mapping

__all__ = ["dealing_options", "dealt"]

_LOCAL: Final = "local"


def dealing_options() -> Decorator:
    """`--workers`, `--scheduler` and `--mpi`: who reads the ranks of an input."""
    options = (
        click.option("--workers", type=click.IntRange(min=1), metavar="N", help="cli.option.workers"),
        click.option("--scheduler", metavar="ADDRESS", help="cli.option.scheduler"),
        switch("--mpi", help="cli.option.mpi"),
    )

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@contextmanager
def dealt(workers: int | None, scheduler: str | None, *, mpi: bool) -> Iterator[Mapping]:
    """Give the mapping that the options ask for; without any, as many processes of this machine as are worth it.

    Raises:
        UsageError: The options contradict each other, or what they ask for is not there.
    """
    if mpi and (scheduler is not None or workers is not None):
        raise UsageError("--mpi takes the workers of the MPI job: leave out --scheduler and --workers")
    if scheduler not in (None, _LOCAL) and workers is not None:
        raise UsageError(f"--scheduler {scheduler} has its own workers: leave out --workers")
    if mpi:
        from ascend_sn.cluster.mpi import mpi_mapping

        with mpi_mapping() as mapping:
            yield mapping
    elif scheduler is not None:
        from ascend_sn.cluster.dask import dask_mapping

        with dask_mapping(None if scheduler == _LOCAL else scheduler, workers) as mapping:
            yield mapping
    elif workers is not None:
        from ascend_sn.cluster.processes import Processes
        from ascend_sn.store.mapping import in_turn

        yield in_turn if workers == 1 else Processes(workers)
    else:
        from ascend_sn.cluster.choice import as_fits

        yield as_fits
