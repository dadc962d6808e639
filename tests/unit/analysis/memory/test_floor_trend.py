from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ascend_sn.analysis.memory.floor_trend import floor_trend, onset_of
from tests.unit.analysis.floor_families import LEAKING, SETTLING, Family, leak_share

CURVES = 30


@pytest.fixture(scope="module")
def shares() -> dict[tuple[str, int], float]:
    return {
        (family.__name__, n): leak_share(family, n, CURVES, floor_trend)
        for n in (60, 100, 200)
        for family in (*SETTLING, *LEAKING)
    }


@pytest.mark.parametrize("n", [60, 100, 200])
def test_at_most_2_percent_of_the_floors_that_settle_are_called_leaks(
    shares: dict[tuple[str, int], float], n: int
) -> None:
    assert fmean(shares[family.__name__, n] for family in SETTLING) <= 0.02


@pytest.mark.parametrize("n", [60, 100, 200])
def test_at_least_95_percent_of_the_leaks_are_found(shares: dict[tuple[str, int], float], n: int) -> None:
    assert fmean(shares[family.__name__, n] for family in LEAKING) >= 0.95


@pytest.mark.parametrize("family", [*SETTLING, *LEAKING], ids=lambda family: family.__name__)
def test_no_family_is_judged_wrongly_as_a_rule(shares: dict[tuple[str, int], float], family: Family) -> None:
    found = [shares[family.__name__, n] for n in (60, 100, 200)]

    assert min(found) >= 0.7 if family in LEAKING else max(found) <= 0.07


def test_a_straight_rise_leaks_with_its_slope() -> None:
    trend = floor_trend([1000 + 4 * step for step in range(60)])

    assert (trend.verdict, trend.slope, trend.slope_low) == ("leak", 4.0, 4.0)
    assert trend.steps == 54  # six of sixty are left out


def test_a_rise_that_ends_is_a_cache_and_level_memory_is_steady() -> None:
    assert floor_trend([1000 + 10 * min(step, 30) for step in range(100)]).verdict == "cache"
    assert floor_trend([1000] * 100).verdict == "steady"


def test_growth_that_is_too_small_to_say_anything_is_none() -> None:
    # 4 in each of 54 steps: 212 in all and 108 in the second half.
    floor = [1000 + 4 * step for step in range(60)]

    assert floor_trend(floor, least_growth=100).verdict == "leak"
    assert floor_trend(floor, least_growth=150).verdict == "cache"
    assert floor_trend(floor, least_growth=300).verdict == "steady"


@pytest.mark.parametrize(("steps", "verdict"), [(33, "leak"), (32, "insufficient"), (0, "insufficient")])
def test_thirty_steps_must_be_left_behind_the_warm_up(steps: int, verdict: str) -> None:
    assert floor_trend([1000 + 4 * step for step in range(steps)]).verdict == verdict


def test_growth_below_a_thousandth_is_none() -> None:
    assert floor_trend([1_000_000 + step for step in range(100)]).verdict == "steady"


def test_the_onset_is_where_the_level_bends() -> None:
    assert onset_of([5] * 20 + [5 + 3 * step for step in range(1, 21)]) == 19
    assert onset_of(range(30)) == 0
    assert onset_of([1, 2]) == 0


@given(st.lists(st.integers(0, 10_000), min_size=30, max_size=80), st.integers(1, 1000))
def test_the_unit_does_not_matter(floor: list[int], unit: int) -> None:
    one, scaled = floor_trend(floor), floor_trend(np.array(floor) * unit)

    assert one.verdict == scaled.verdict
