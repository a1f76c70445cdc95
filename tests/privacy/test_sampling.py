"""The noise drawn has the distribution that the proofs are about."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deeprotect.errors import PolicyError
from deeprotect.privacy import sampling
from deeprotect.privacy.entropy import SeededEntropy, SystemEntropy
from deeprotect.privacy.sampling import DiscreteLaplace, round_up
from studies.features.expected_noise import mean_magnitude


def probability(k, scale):
    """P(k) = tanh(1 / 2b) exp(-|k| / b), exactly normalised."""
    return np.tanh(0.5 / float(scale)) * np.exp(-np.abs(k) / float(scale))


def discrete_laplace(scale, count, *, entropy):
    return DiscreteLaplace((scale,)).draw(count, entropy=entropy)[:, 0]


class Script:
    """Words from a list, to follow the sampler's choices one by one."""

    def __init__(self, *words):
        self.left = list(words)

    def words(self, count):
        taken, self.left = self.left[:count], self.left[count:]
        assert len(taken) == count
        return np.array(taken, dtype=np.uint64)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 3), Fraction(29, 10), Fraction(12)])
def test_frequencies_match_the_exact_probabilities(scale):
    noise = discrete_laplace(scale, 200_000, entropy=SeededEntropy(11))
    reach = 0
    while 200_000 * probability(reach + 1, scale) > 20:
        reach += 1
    inside = np.arange(-reach, reach + 1)
    expected = 200_000 * probability(inside, scale)
    observed = np.array([(noise == k).sum() for k in inside])
    rest = 200_000 - expected.sum()
    expected, observed = np.append(expected, rest), np.append(observed, 200_000 - observed.sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-3


def test_a_wide_distribution_passes_kolmogorov_smirnov():
    scale = round_up(Fraction(24576.123))
    noise = discrete_laplace(scale, 200_000, entropy=SeededEntropy(12))
    # The grid is 24576 times finer than the distribution, so the continuous law fits to about 4e-5.
    assert stats.kstest(noise / float(scale), stats.laplace.cdf).pvalue > 1e-3


def test_a_tiny_scale_gives_zero_always():
    assert not discrete_laplace(Fraction(1, 1000), 5000, entropy=SeededEntropy(1)).any()


def test_a_huge_scale_keeps_its_mean_and_sign():
    scale = Fraction(2**48)
    noise = discrete_laplace(scale, 20_000, entropy=SeededEntropy(1)).astype(float) / 2.0**48
    assert abs(np.abs(noise).mean() - 1.0) < 0.04
    assert abs(noise.mean()) < 0.05


def test_noise_is_independent_across_block_borders_and_calls():
    noise = discrete_laplace(Fraction(50), 150_000, entropy=SystemEntropy()).astype(float)
    assert abs(np.corrcoef(noise[:-1], noise[1:])[0, 1]) < 0.02
    assert abs(np.corrcoef(noise[:65536], noise[65536 : 2 * 65536])[0, 1]) < 0.03


@pytest.mark.parametrize("count", [0, 1, 65536, 65537])
def test_it_gives_as_many_as_asked(count):
    assert discrete_laplace(Fraction(3, 2), count, entropy=SeededEntropy(0)).shape == (count,)


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(2**48 + 1), Fraction(1, 2**48 + 1)])
def test_scales_that_its_integers_cannot_hold_are_refused(scale):
    with pytest.raises(PolicyError, match="round_up"):
        discrete_laplace(scale, 1, entropy=SeededEntropy(0))


def word(*octets):
    return int(np.array([*octets, *[0] * (8 - len(octets))], dtype=np.uint8).view(np.uint64)[0])


def test_words_beyond_the_last_whole_multiple_are_drawn_again():
    # 2^8 = 3 * 85 + 1, so only the largest octet is one too many.
    script = Script(word(255, 5), word(255), word(7))
    assert sampling.below(3, 2, script).tolist() == [1, 2]
    assert script.left == []


@pytest.mark.parametrize("bound", [2, 3, 5, 6, 7, 11, 16])
def test_every_octet_counts_once_for_small_bounds(bound):
    octets = np.arange(256, dtype=np.uint8)
    enough = 256 // bound * bound
    script = Script(*octets.view(np.uint64).tolist(), *[0] * 32)  # what is drawn again is 0
    drawn = sampling.below(bound, 256, script)
    assert (np.bincount(drawn[:enough]) == enough // bound).all()
    assert not drawn[enough:].any()


@given(st.integers(2, 2**48))
def test_at_most_one_draw_in_sixteen_is_made_again(bound):
    width = 8 * sampling._narrowest(bound).itemsize
    assert 2**width % bound * 16 <= 2**width


@pytest.mark.parametrize("bound", [2, 3, 10, 17, 4095, 4097, 12582975, 2**28 + 1, 2**40, 2**48 - 59])
def test_uniform_integers_are_uniform(bound):
    drawn = sampling.below(bound, 100_000, SeededEntropy(5))
    assert drawn.min() >= 0
    assert drawn.max() < bound
    assert stats.kstest((drawn + 0.5) / bound, "uniform").statistic < 0.5 / bound + 0.006


class Counted:
    """Words of another source, and how many were asked for, call by call."""

    def __init__(self, source):
        self.source, self.asked = source, []

    def words(self, count):
        self.asked.append(count)
        return self.source.words(count)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5), round_up(Fraction(24576.123)), Fraction(2**48)])
def test_every_value_takes_the_same_words_in_the_same_calls_whatever_it_becomes(scale):
    noise, asked, drawn = DiscreteLaplace((scale,)), set(), set()
    for _ in range(500):
        counted = Counted(SystemEntropy())
        drawn.add(int(noise.draw(1, entropy=counted)[0, 0]))
        asked.add(tuple(counted.asked))
    assert len(asked) == 1
    assert len(drawn) > 2


def test_a_value_is_a_function_of_its_own_words_whatever_is_drawn_beside_it():
    noise = DiscreteLaplace((Fraction(3), Fraction(700, 3), Fraction(3)))
    at_once = noise.draw(2_000, entropy=SeededEntropy(4))
    entropy = SeededEntropy(4)
    one_by_one = np.concatenate([noise.draw(count, entropy=entropy) for count in (1, 2, 3, 7, 64, 500, 1_423)])
    assert (at_once == one_by_one).all()


def test_scales_in_a_row_each_have_their_own_distribution():
    scales = (Fraction(1, 3), Fraction(50), Fraction(1, 3), Fraction(7, 2))
    drawn = DiscreteLaplace(scales).draw(100_000, entropy=SeededEntropy(6))
    for scale, column in zip(scales, drawn.T, strict=True):
        assert np.abs(column).mean() == pytest.approx(mean_magnitude(scale), rel=0.02)
    assert np.abs(np.corrcoef(drawn.T) - np.eye(4)).max() < 0.02


def share(exponent, *, places=6):
    """1 / (1 + exp(exponent)) from its series in fractions, between two ends."""
    term = total = Fraction(1)
    number = 0
    while term > Fraction(1, 1 << 64 * places) or number < 2 * exponent:
        number += 1
        term *= exponent / number
        total += term
    return 1 / (1 + total + term), 1 / (1 + total)


@given(st.fractions(min_value=Fraction(1, 1000), max_value=80, max_denominator=10**6), st.integers(1, 4))
def test_thresholds_are_the_exact_digits_of_the_probability(exponent, place):
    least, most = (int(end * 2 ** (64 * place)) % 2**64 for end in share(exponent))
    assert least == sampling._digit(exponent, place) == most


def test_a_word_that_equals_the_threshold_is_settled_by_the_next_digits():
    exponent = Fraction(1, 3)
    second, third = (sampling._digit(exponent, place) for place in (2, 3))
    assert sampling._settled(exponent, Script(second - 1))
    assert not sampling._settled(exponent, Script(second + 1))
    assert sampling._settled(exponent, Script(second, third - 1))
    assert not sampling._settled(exponent, Script(second, third + 1))


def test_bits_make_the_number_and_the_first_one_its_sign():
    noise = DiscreteLaplace((Fraction(5),))
    thresholds = noise._thresholds[0].tolist()
    for sign, number in ((0, 0), (0, 5), (1, 0), (1, 5), (0, 37), (1, 37)):
        ones = [sign, *(number >> bit & 1 for bit in range(len(thresholds) - 1))]
        words = [threshold - 1 if one else threshold + 1 for one, threshold in zip(ones, thresholds, strict=True)]
        assert noise.draw(1, entropy=Script(*words)).tolist() == [[-1 - number if sign else number]]


def test_a_tie_in_the_middle_of_a_draw_changes_its_own_bit_only():
    noise = DiscreteLaplace((Fraction(5), Fraction(5)))
    above = noise._thresholds[0] + np.uint64(1)
    words = np.concatenate([above, above])
    words[3] -= np.uint64(1)  # bit 2 of the first value is neither above nor below
    second = sampling._digit(Fraction(4, 5), 2)
    assert noise.draw(1, entropy=Script(*words.tolist(), second - 1)).tolist() == [[4, 0]]
    assert noise.draw(1, entropy=Script(*words.tolist(), second + 1)).tolist() == [[0, 0]]


@pytest.mark.parametrize(
    "scale", [Fraction(1, 2**48), Fraction(1, 3), Fraction(1), Fraction(12345, 7), Fraction(2**48)]
)
def test_what_is_never_drawn_has_probability_below_exp_minus_1024(scale):
    reach = 1 << DiscreteLaplace((scale,))._thresholds.shape[1] - 1
    assert reach / scale >= 1024
    assert reach < 2**62


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10**12))
def test_rounding_a_scale_never_lessens_it_and_hardly_raises_it(scale):
    rounded = round_up(scale)
    assert scale <= rounded <= scale * (1 + Fraction(1, 2**23))
    assert max(rounded.numerator, rounded.denominator) <= 2**48


@pytest.mark.parametrize("scale", [Fraction(1, 2000), Fraction(1, 5), Fraction(3), Fraction(500)])
def test_mean_magnitude_is_the_sum_over_all_integers(scale):
    k = np.arange(-40_000, 40_001)
    assert mean_magnitude(scale) == pytest.approx(float((np.abs(k) * probability(k, scale)).sum()), abs=1e-12)
