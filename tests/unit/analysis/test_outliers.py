from __future__ import annotations

import pytest

from ascend_sn.analysis.outliers import modified_z


def test_scores_by_hand() -> None:
    # median 3, deviations 2 1 0 1 97, their median 1
    scores = modified_z([1, 2, 3, 4, 100])

    assert scores is not None
    assert scores.tolist() == pytest.approx([-1.349, -0.6745, 0, 0.6745, 0.6745 * 97])


def test_equal_values_have_a_spread_of_2_percent() -> None:
    scores = modified_z([100, 100, 100, 104])

    assert scores is not None
    assert scores[-1] == pytest.approx(0.6745 * 2)


def test_two_values_and_zeros_have_no_scores() -> None:
    assert modified_z([1, 100]) is None
    assert modified_z([0, 0, 0]) is None
