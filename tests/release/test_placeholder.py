"""Placeholders: drawn without the data, of the same form as any release."""

import numpy as np
import pytest
from scipy import stats

from deeprotect.privacy.box import Box
from deeprotect.privacy.channel.design import design, make
from deeprotect.privacy.entropy import SeededEntropy, SystemEntropy
from deeprotect.privacy.mechanisms.laplace import certified
from deeprotect.release.engine import _drawn

CHANNEL = make(design(1.0 - np.eye(3), np.ones(3), ldp_epsilon=2.0), variants=4)
MECHANISMS = {
    "channel": CHANNEL,
    "laplace": certified(Box((0.0, -4.0), (1.0, 0.0)), 1.0),
}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("paid", [[True, False, True], [False, False, False], [True, True, True]])
def test_what_is_not_paid_for_does_not_depend_on_the_data(name, paid):
    mechanism, marks = MECHANISMS[name], np.array(paid)
    one, other = (
        _drawn(mechanism, np.full((3, mechanism.dim), value), marks, entropy=SeededEntropy(2)) for value in (0.0, 2.0)
    )
    assert np.array_equal(one[~marks], other[~marks])
    assert one.shape == (3, mechanism.dim)
    assert (one[marks] != other[marks]).any() or not marks.any()


def test_every_public_output_is_as_likely_as_any_other():
    drawn = CHANNEL.placeholders(12_000, entropy=SeededEntropy(0))[:, 0].astype(int)
    assert stats.chisquare(np.bincount(drawn, minlength=12)).pvalue > 1e-6


def test_noise_lies_around_the_middle_of_the_box():
    drawn = MECHANISMS["laplace"].placeholders(20_000, entropy=SeededEntropy(1))
    assert np.allclose(np.median(drawn, axis=0), [0.5, -2.0], atol=0.3)


def test_two_placeholders_are_two_draws():
    assert len(np.unique(MECHANISMS["laplace"].placeholders(50, entropy=SystemEntropy()), axis=0)) > 40
