"""Every way of dealing items out gives the same, and names what was lost."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.cluster.choice import as_fits
from ascend_sn.cluster.executors import over
from ascend_sn.cluster.processes import Processes, carried
from ascend_sn.errors import FormatError, InputError, StoreError
from ascend_sn.formats import readers
from ascend_sn.store.mapping import Mapping, Outcome, in_turn
from tests.unit.cluster.work import killed_at_seven, killed_once, squared, squared_but_seven, squared_or_defect

NUMBERS = list(range(12))
SIZES = [1] * 12
SQUARES = {0: 0, 1: 1, 2: 4, 3: 9, 4: 16, 5: 25, 6: 36, 7: 49, 8: 64, 9: 81, 10: 100, 11: 121}


def made(outcomes: Iterator[Outcome[Any]]) -> dict[int, Any]:
    """What came back, by place; nothing twice."""
    found = list(outcomes)
    assert len({outcome.at for outcome in found}) == len(found)
    return {outcome.at: outcome.lost or outcome.made for outcome in found}


@pytest.fixture
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(3) as pool:
        yield pool


@pytest.mark.parametrize("mapping", [in_turn, Processes(2), as_fits], ids=["in turn", "processes", "as fits"])
def test_every_mapping_gives_the_same(mapping: Mapping) -> None:
    assert made(mapping(squared, NUMBERS, SIZES)) == SQUARES
    assert made(mapping(squared, [], [])) == {}


def test_any_executor_will_do(threads: Executor) -> None:
    assert made(over(threads, squared, NUMBERS, range(12), at_once=2)) == SQUARES


def test_at_most_so_many_are_under_way() -> None:
    class Counting(ThreadPoolExecutor):
        submitted = 0

        def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            self.submitted += 1
            return super().submit(function, *args, **kwargs)

    with Counting(1) as pool:
        outcomes = over(pool, squared, NUMBERS, range(12), at_once=3)
        next(outcomes)
        given = pool.submitted

    assert given <= 3


def test_an_item_that_fails_on_purpose_is_lost_with_its_reason() -> None:
    found = made(Processes(2)(squared_but_seven, NUMBERS, SIZES))

    assert found == SQUARES | {7: "/place: No space left on device"}


def test_a_defect_is_lost_and_logged_whole(threads: Executor, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = made(over(threads, squared_or_defect, NUMBERS, range(12), at_once=4))

    assert found == SQUARES | {7: "ZeroDivisionError: seven"}
    assert [record.exc_info is not None for record in caplog.records] == [True]


def test_an_item_that_kills_its_process_twice_is_lost_and_the_others_are_not() -> None:
    found = made(Processes(2)(killed_at_seven, NUMBERS, SIZES))

    assert found.pop(7) == "its worker process died; was it out of memory?"
    assert found == {at: square for at, square in SQUARES.items() if at != 7}


def test_an_item_whose_process_was_killed_once_is_done_again(tmp_path: Path) -> None:
    marks = [str(tmp_path / name) for name in ("a", "mortal", "b", "c")]

    found = made(Processes(2)(killed_once, marks, [1, 1, 1, 1]))

    assert found == {0: "a", 1: "mortal", 2: "b", 3: "c"}


@pytest.mark.parametrize(
    ("sizes", "cores", "free", "expected"),
    [
        ([1_000] * 8, 4, 10_000_000_000, 4),  # as many as cores
        ([1_000] * 3, 4, 10_000_000_000, 3),  # no more than items
        ([1_000_000_000] * 8, 16, 5_000_000_000, 4),  # 5 GB carry four workers of 1.25 GB
        ([9_000_000_000] * 8, 16, 5_000_000_000, 1),  # one at least
        ([], 4, 10_000_000_000, 1),
    ],
)
def test_cores_and_memory_bound_the_processes(sizes: list[int], cores: int, free: int, expected: int) -> None:
    assert carried(sizes, cores=cores, free_bytes=free) == expected


def test_errors_come_back_from_another_process_as_they_were() -> None:
    for error in (InputError("/p", "is odd"), FormatError("/p", "broke", "line 3"), StoreError("/s", "is full")):
        copy = pickle.loads(pickle.dumps(error))

        assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))


def test_every_reader_can_be_named_to_another_process() -> None:
    for reader in readers():
        assert pickle.loads(pickle.dumps(reader)) == reader
