"""Items over a Dask cluster: one that runs already, or one of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any, Final, TypeVar

from ascend_sn.cluster.executors import over
from ascend_sn.errors import UsageError
from ascend_sn.store.mapping import Mapping, Outcome

__all__ = ["dask_mapping"]

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")

_CONNECT_S: Final = 20
_PER_WORKER: Final = 4
"""Tasks given to a worker ahead, so that it does not wait for the next one."""


@contextmanager
def dask_mapping(scheduler: str | None = None, workers: int | None = None) -> Iterator[Mapping]:
    """Give a mapping over a Dask cluster.

    Its workers need this package, and must see the input and the place of the results under the same names. Dask gives
    the tasks of a worker that is lost to another one.

    Args:
        scheduler: Address of a running scheduler, such as tcp://host:8786; None starts a cluster on this machine.
        workers: Processes of the cluster that is started here.

    Raises:
        UsageError: Dask is not installed, or no scheduler answers.
    """
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise UsageError("Dask is not installed: pip install 'ascend-sn[cluster]'") from error
    with ExitStack() as stack:
        if scheduler is None:
            cluster: Any = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=workers, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
                )
            )
        else:
            cluster = scheduler
        try:
            client = stack.enter_context(distributed.Client(cluster, timeout=_CONNECT_S))
        except (OSError, ValueError) as error:
            raise UsageError(f"--scheduler {scheduler}: no Dask scheduler answers: {error}") from error
        yield _over_client(client)


def _over_client(client: Any) -> Mapping:
    def mapping(
        function: Callable[[_Item], _Made], items: Sequence[_Item], size_bytes: Sequence[int], /
    ) -> Iterator[Outcome[_Made]]:
        places = sorted(range(len(items)), key=lambda at: -size_bytes[at])
        known = len(client.scheduler_info(n_workers=-1)["workers"])
        with client.get_executor(pure=False) as executor:
            yield from over(executor, function, items, places, at_once=max(known, 1) * _PER_WORKER)

    return mapping
