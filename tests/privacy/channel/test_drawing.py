"""Drawing from a channel: what its integers say, for any number as a code."""

import numpy as np
import pytest
from scipy import stats
from tests.privacy.channel.test_discrete_channel import Script, ldp

from deeprotect.errors import InputError
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.channel.ratios import WHOLE
from deeprotect.privacy.entropy import SeededEntropy, SystemEntropy
from deeprotect.privacy.events import Event


def test_each_word_gives_the_output_whose_interval_holds_it():
    weights = ((3, 0, 5, WHOLE - 8), (1, 0, WHOLE - 2, 1), (WHOLE - 9, 0, 1, 8))
    channel = DiscreteChannel(Event("ldp", 99.0), weights, (1.0,) * 3, np.zeros((3, 4)))
    for code, row in enumerate(weights):
        start = 0
        for output, weight in enumerate(row):
            borders = {start, start + weight - 1} if weight else set()
            for word in borders:
                drawn = channel.privatise(np.array([[float(code)]]), entropy=Script(word))
                assert drawn.tolist() == [[float(output)]], (code, output, word)
            start += weight
        assert start == WHOLE


def test_frequencies_match_the_integers():
    channel = ldp(4, 0.8, variants=3)
    code = np.tile(np.arange(4.0), 30_000)[:, None]
    released = channel.privatise(code, entropy=SeededEntropy(7))[:, 0].astype(int)
    for z in range(4):
        seen = np.bincount(released[z::4], minlength=12)
        expected = np.repeat(channel.probabilities[z] / 3, 3) * 30_000
        assert stats.chisquare(seen, expected).pvalue > 1e-3


def test_half_a_promise_would_be_noticed_by_that_test():
    channel = ldp(3, 1.0)
    released = channel.privatise(np.zeros((30_000, 1)), entropy=SeededEntropy(1))[:, 0].astype(int)
    expected = ldp(3, 2.0).probabilities[0] * 30_000
    assert stats.chisquare(np.bincount(released, minlength=3), expected).pvalue < 1e-9


def test_windows_are_drawn_independently_of_their_neighbours():
    channel = ldp(4, 1.0)
    released = channel.privatise(np.zeros((60_000, 1)), entropy=SeededEntropy(3))[:, 0].astype(int)
    table = np.zeros((4, 4))
    np.add.at(table, (released[:-1:2], released[1::2]), 1)
    assert stats.chi2_contingency(table).pvalue > 1e-3


def test_any_number_is_answered_as_some_code():
    strange = np.array([[np.nan], [-np.inf], [-3.0], [0.49], [0.51], [np.inf], [1e300]])
    # At ε = 15 an answer other than the code itself is as rare as one in a million.
    answers = ldp(3, 15.0).privatise(strange, entropy=SeededEntropy(0))
    assert answers[:, 0].tolist() == [0, 0, 0, 0, 1, 2, 2]


def test_released_indices_are_whole_and_within_the_table():
    channel = ldp(4, variants=5)
    for count in (0, 1, 1000):
        code = np.random.default_rng(0).integers(0, 4, (count, 1)).astype(np.float32)
        before = code.copy()
        released = channel.privatise(code, entropy=SystemEntropy())
        assert released.shape == (count, 1)
        assert released.dtype == np.float64
        assert np.isin(released, np.arange(20)).all()
        assert (code == before).all()


@pytest.mark.parametrize("shape", [(3,), (3, 2), ()])
def test_more_than_one_code_for_a_window_is_refused(shape):
    with pytest.raises(InputError, match="one code for each window"):
        ldp().privatise(np.zeros(shape), entropy=SeededEntropy(0))
