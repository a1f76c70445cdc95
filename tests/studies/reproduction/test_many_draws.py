"""What several draws in a row tell at most: a line-up of two people, whose codes are known."""

import numpy as np
import pytest

from studies.reproduction.many_draws import _pairs

KEEPS = np.array([[0.9, 0.1], [0.1, 0.9]])


def sequences(first, second):
    return {(0, "ann"): np.array(first), (0, "bob"): np.array(second)}


def test_people_with_the_same_codes_are_told_apart_by_guessing_only():
    assert _pairs(sequences([0, 1] * 8, [0, 1] * 8), KEEPS, draws=16, seed=0).tolist() == [0.5]


def test_people_with_other_codes_are_told_apart_the_better_the_more_draws_there_are():
    one, many = (_pairs(sequences([0] * 16, [1] * 16), KEEPS, draws=draws, seed=0)[0] for draws in (1, 16))
    assert one == pytest.approx(0.9, abs=0.05)
    assert many > 0.99


def test_who_did_it_for_too_short_a_time_is_in_no_pair():
    assert len(_pairs(sequences([0] * 16, [1] * 3), KEEPS, draws=4, seed=0)) == 0
