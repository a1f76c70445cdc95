"""Named promises held against recordings that were not there when they were made."""

import numpy as np
import pytest
from tests.recordings import promises, recorded

from studies.reproduction.known_tables import select_studies
from studies.reproduction.next_recording import _outside, _shown, measure

EVEN, LEANING = [[50, 50], [50, 50]], [[90, 10], [10, 90]]


def test_a_cell_is_outside_where_the_mean_of_its_next_recordings_leaves_the_set():
    made = promises(EVEN, recordings=400)
    assert _outside(recorded(EVEN), made) == 0
    assert _outside(recorded(LEANING), made) == 2


def test_what_is_shown_is_the_largest_ratio_between_classes_behind_the_channel():
    assert _shown(recorded(LEANING), promises(EVEN), np.eye(2)) == pytest.approx(np.log(9))
    assert _shown(recorded(LEANING), promises(EVEN), np.full((2, 2), 0.5)) == 0.0
    assert _shown(recorded(LEANING), [], np.eye(2)) == pytest.approx(np.log(9))  # where nothing is promised, of all


@pytest.mark.long
@pytest.mark.timeout(300)
def test_two_arms_are_too_few_recordings_for_a_named_promise_and_ldp_takes_its_place():
    (study,) = select_studies(["watch-exercise"])
    for each in measure(study, None, epochs=1):
        assert "ldp" in each.made
        assert (each.promised, each.trials) == (0, 0)
        assert each.needed > 3
