"""A few runs against many: exact chances, and when a verdict waits for another run."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from ascend_sn.compare.further_runs import chance_by_order, chance_of_disturbance, more_to_tell, told_apart
from ascend_sn.compare.judge import judged
from ascend_sn.compare.metrics import Samples, metric_of
from benchmarks.gate_power import FAMILIES, OTHER_DISTURBANCES, Family

STEP = metric_of("step_time")


@pytest.mark.parametrize(("base", "count"), [(5, 1), (5, 3), (9, 2)])
def test_the_chance_of_an_order_is_counted(base: int, count: int) -> None:
    orders = list(combinations(range(base + count), count))  # which of the runs by size are the last ones
    apart = [one for one in orders if min(one) >= base]

    assert chance_by_order(base, count) == pytest.approx(len(apart) / len(orders))


@pytest.mark.parametrize(("base", "count"), [(5, 1), (18, 1), (5, 2)])
def test_no_rate_of_disturbances_gives_a_greater_chance(base: int, count: int) -> None:
    rates = np.linspace(0.001, 0.999, 999)
    chances = rates**count * (1 - rates) ** base

    assert chance_of_disturbance(base, count) == pytest.approx(chances.max(), rel=1e-3)
    assert chance_of_disturbance(base, count) >= chances.max()


def test_one_run_alone_needs_eighteen_before_it_and_two_need_five() -> None:
    assert [more_to_tell(base, 1) for base in (5, 17, 18, 40)] == [1, 1, 0, 0]
    assert more_to_tell(5, 2) == 0


def test_where_orders_do_not_decide_the_worst_run_before_has_to_be_exceeded_by_the_limit() -> None:
    base = np.array([0.0] * 17 + [0.3])

    assert told_apart(base, np.array([0.41]), 0.1)
    assert not told_apart(base, np.array([0.39]), 0.1)
    assert not told_apart(base[:10], np.array([5.0]), 0.1)


def test_where_orders_decide_each_run_has_to_be_worse_than_all_before() -> None:
    base = np.arange(13) / 100

    assert told_apart(base, np.array([0.13, 0.2]), 0.1)
    assert not told_apart(base, np.array([0.11, 5.0]), 0.1)


def test_a_run_far_off_is_possible_until_a_second_agrees() -> None:
    base = Samples(np.array([100.0, 101.0, 99.0, 100.5, 99.5, 100.0]))

    alone, both = (judged(STEP, base, Samples(np.array(runs)), 0.1) for runs in ([150.0], [150.0, 151.0]))

    assert (alone.verdict, alone.more_runs) == ("possible", 1)
    assert both.verdict == "regression"


def test_a_share_that_falls_is_looked_at_the_other_way_round() -> None:
    utilisation = metric_of("utilisation")
    base = Samples(np.array([0.90, 0.91, 0.89, 0.90, 0.90]))

    found = [judged(utilisation, base, Samples(np.array(runs)), 0.15).verdict for runs in ([0.6, 0.6], [0.6, 0.9])]

    assert found[0] == "regression"
    assert found[1] != "regression"


@pytest.mark.parametrize("family", [*FAMILIES, *OTHER_DISTURBANCES], ids=lambda family: family.__name__)
@pytest.mark.parametrize(("count", "further"), [(10, 1), (20, 1), (5, 2)])
def test_few_runs_of_the_same_program_hardly_ever_fail(family: Family, count: int, further: int) -> None:
    generator = np.random.default_rng(5)
    alarms = 0
    for _ in range(200):
        runs = family(generator, count + further, 0.05)
        alarms += judged(STEP, Samples(runs[:count]), Samples(runs[count:]), 0.1).verdict == "regression"

    assert alarms <= 7  # of 2 % of 200, at most so many in 96 of 100 cases
