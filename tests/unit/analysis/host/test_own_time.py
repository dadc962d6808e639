"""Own times of ranks, rank by step: how far one is beyond the others, and when that is more than noise."""

from __future__ import annotations

import numpy as np
import pytest

from ascend_sn.analysis.host.own_time import compared

NAN = float("nan")


def test_the_excess_is_what_more_than_half_of_the_steps_reach() -> None:
    own = np.array([[100.0] * 5, [100.0] * 5, [110.0, 120.0, 100.0, 130.0, 100.0]])

    times = compared(own)

    # 1.1 1.2 1 1.3 1 times the others: three of five steps reach 1.1.
    assert np.exp(times.excess[2]) == pytest.approx(1.1)
    assert times.slowest.tolist() == [0.0, 0.0, 0.6]
    assert np.exp(times.excess[0]) == pytest.approx(1 / 1.1**0 / 1.05)  # others: 105 in the middle step of the order


def test_of_an_even_number_of_steps_half_is_not_enough() -> None:
    own = np.array([[100.0] * 4, [100.0] * 4, [100.0, 100.0, 150.0, 150.0]])

    assert compared(own).excess[2] == 0.0


def test_the_spread_is_at_least_a_hundredth() -> None:
    times = compared(np.array([[100.0] * 3] * 9 + [[105.0] * 3]))

    assert times.z[-1] == pytest.approx(np.log(1.05) / 0.01)
    assert times.z[:9].tolist() == [0.0] * 9


def test_noise_from_step_to_step_widens_the_spread() -> None:
    noise = np.array([0.8, 1.0, 1.25])  # exp(-0.223), 1, exp(0.223)
    own = np.array([100 * noise, 100 * noise[::-1], 100 * np.roll(noise, 1), 130 * np.ones(3)])

    quiet = compared(np.array([[100.0] * 3] * 3 + [[130.0] * 3])).z[-1]
    noisy = compared(own).z[-1]

    assert quiet == pytest.approx(np.log(1.3) / 0.01)
    assert noisy < 3.5


def test_ranks_that_lack_a_step_are_compared_in_those_that_they_have() -> None:
    own = np.array([[100.0, 100.0, NAN], [100.0, 100.0, 100.0], [NAN, 120.0, 120.0]])

    times = compared(own)

    assert np.exp(times.excess[2]) == pytest.approx(1.2)
    assert times.slowest.tolist() == [0.0, 0.0, 1.0]


def test_two_ranks_are_held_against_the_noise_of_their_difference() -> None:
    # Differences of 0.2 +- 0.01: their deviation is 0.01155, so t is 34.64. With three degrees of freedom that has a
    # chance of 0.000026 on one side, which a normal score of 4.04 has.
    swing = np.exp([0.19, 0.21, 0.19, 0.21])
    own = np.array([[100.0] * 4, (100.0 * swing).tolist()])

    times = compared(own)

    assert times.z[1] == pytest.approx(4.0, abs=0.2)
    assert times.z[0] == -times.z[1]


def test_two_ranks_that_are_longer_in_turn_do_not_stand_out() -> None:
    times = compared(np.array([[100.0, 130.0, 100.0, 130.0], [130.0, 100.0, 130.0, 101.0]]))

    assert abs(times.z[1]) < 1.0


def test_two_ranks_in_one_step_have_no_scores_and_one_without_others_has_nothing() -> None:
    assert np.isnan(compared(np.array([[100.0], [150.0]])).z).all()
    assert np.exp(compared(np.array([[100.0], [150.0]])).excess).tolist() == pytest.approx([1 / 1.5, 1.5])

    alone = compared(np.array([[100.0, 100.0]]))

    assert np.isnan(alone.excess[0])
    assert np.isnan(alone.slowest[0])


def test_ranks_that_are_slow_together_do_not_hide_each_other() -> None:
    times = compared(np.array([[100.0] * 3] * 9 + [[120.0] * 3] * 3))

    assert np.exp(times.excess[-3:]).tolist() == pytest.approx([1.2] * 3)
    assert (times.z[-3:] > 3.5).all()
    assert times.slowest.tolist() == [0.0] * 12
