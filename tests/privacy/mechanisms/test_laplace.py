"""Every member of the grid Laplace family keeps the epsilon it states, exactly."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deeprotect.errors import InputError, PolicyError
from deeprotect.privacy.box import Box
from deeprotect.privacy.entropy import SeededEntropy, SystemEntropy
from deeprotect.privacy.events import Event
from deeprotect.privacy.mechanisms.laplace import GridLaplace, baseline, certified, paper_mode1, paper_mode2
from deeprotect.privacy.mechanisms.relaxed import basis
from deeprotect.privacy.size_limits import MOST_SCALES
from studies.features.expected_noise import expected_noise

epsilons = st.floats(0.01, 30.0)
widths = st.lists(st.floats(1e-3, 50.0), min_size=1, max_size=6)


def orthonormal(features, dim, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(dim, features)))[0].T


def log_ratio(mechanism, first, second, output):
    """log P(output | first) − log P(output | second), exactly, for grid positions."""
    terms = zip(first.tolist(), second.tolist(), output, mechanism.scales, strict=True)
    return sum((Fraction(abs(o - b) - abs(o - a)) / scale for a, b, o, scale in terms), Fraction(0))


SMALL = [
    baseline(2, 1.0, grid_steps=3),
    certified(Box((0.0, -1.0), (1.0, 3.0), 3), 0.7),
    paper_mode1(Box.unit(2, grid_steps=3), 1.0, dim_x=4),
]


@pytest.mark.parametrize("mechanism", SMALL, ids=lambda m: m.name)
def test_no_two_windows_and_no_output_have_a_ratio_above_e_to_the_epsilon(mechanism):
    corners = np.array(list(product((0.0, 0.4, 1.0), repeat=2)))
    codes = np.vstack([corners * 20 - 10, [[np.nan, np.inf]], [[-np.inf, 1e300]]])
    positions = mechanism.box.to_grid(codes)
    worst = max(
        log_ratio(mechanism, a, b, output)
        for a in positions
        for b in positions
        for output in product(range(-2, 10), repeat=2)
    )
    assert 0 < worst <= mechanism.real_epsilon <= Fraction(mechanism.event.epsilon)
    if mechanism.name in ("baseline", "laplace"):
        assert worst == mechanism.real_epsilon  # no noise is wasted


@given(widths, epsilons)
def test_real_epsilon_never_exceeds_the_stated_one(some_widths, epsilon):
    box = Box((0.0,) * len(some_widths), tuple(some_widths))
    mechanism = certified(box, epsilon)
    assert mechanism.real_epsilon <= Fraction(epsilon)
    assert float(mechanism.real_epsilon) == pytest.approx(epsilon, rel=1e-6)


def test_mode_two_holds_for_relaxed_neighbours_of_the_papers_encoder():
    rng = np.random.default_rng(2)
    weights, directions = orthonormal(7, 30, seed=3), basis(rng.normal(size=(30, 2)))
    mechanism = paper_mode2(Box.unit(7), 1.0, directions=directions)
    change = rng.normal(size=(4000, 2)) @ directions.T
    change /= np.abs(change).max(axis=1, keepdims=True)
    first = np.clip(-change, 0, 1)
    encode = lambda x: 1 / (1 + np.exp(-(x @ weights.T)))  # noqa: E731
    steps = np.abs(mechanism.box.to_grid(encode(first)) - mechanism.box.to_grid(encode(first + change)))
    worst = (steps @ np.array([1 / float(scale) for scale in mechanism.scales])).max()
    assert 0 < worst <= float(mechanism.real_epsilon) <= 1.0


def test_mode_two_is_ldp_by_its_clip_box_and_says_so():
    certificate = paper_mode2(Box.unit(7), 1.0, directions=basis(np.ones(30)), inferences=("person",)).certificate()
    assert certificate["guarantee"] == "rldp"
    assert certificate["ldp_epsilon"] == certificate["derived_epsilon"] <= 1.0
    assert certificate["method"] == "clip box"
    assert certificate["neighbours"] == "any two windows"
    assert certificate["assumes"] == []


def test_the_literal_scale_of_mode_two_is_the_papers():
    mechanism = paper_mode2(Box((0.0,) * 7, (0.1,) * 7), 5.0, directions=basis(np.eye(30)[:, :1]))
    assert mechanism.noise_scales == pytest.approx(np.sqrt(7) / 5)  # one sample of thirty: ΔQ_relax = 1/30


def test_mode_two_refuses_a_box_wider_than_the_papers_bound():
    """One direction of one sample: the literal noise is for √7, and the features span 7."""
    with pytest.raises(PolicyError, match=r"would not be ε-RLDP whatever the encoder.*'laplace'"):
        paper_mode2(Box((0.0,) * 7, (1.0,) * 7), 1.0, directions=basis(np.eye(30)[:, :1]))


def test_mode_one_refuses_a_box_wider_than_the_papers_bound():
    with pytest.raises(PolicyError, match="Clip tighter"):
        paper_mode1(Box((0.0,) * 2, (100.0,) * 2), 1.0, dim_x=10)


def test_the_literal_scale_of_mode_one_is_the_papers():
    assert paper_mode1(Box.unit(7), 5.0, dim_x=30).noise_scales == pytest.approx(np.sqrt(7) * 30 / 5)


def test_the_literal_scale_of_the_baseline_is_the_papers():
    assert baseline(30, 5.0).noise_scales == pytest.approx(30 / 5)


def test_half_the_noise_is_refused():
    honest = certified(Box.unit(3), 1.0)
    with pytest.raises(PolicyError, match="more than the stated"):
        GridLaplace("laplace", Event("ldp", 1.0), honest.box, tuple(s / 2 for s in honest.scales))


def test_an_epsilon_too_small_for_the_sampler_is_refused():
    with pytest.raises(PolicyError, match="larger epsilon"):
        baseline(30, 1e-12)


def test_more_different_scales_than_can_be_added_up_quickly_are_refused():
    count = MOST_SCALES + 1
    scales = tuple(Fraction(10**7 + 2 * number + 1, 3) for number in range(count))
    box = Box.unit(count)
    with pytest.raises(PolicyError, match=f"more than {MOST_SCALES} sizes"):
        GridLaplace("laplace", Event("ldp", 100.0), box, scales)
    assert GridLaplace("laplace", Event("ldp", 100.0), box, scales[:1] * count).dim == count


class Counted:
    """The operating system's words, and how many were asked for, call by call."""

    def __init__(self):
        self.asked = []

    def words(self, count):
        self.asked.append(count)
        return SystemEntropy().words(count)


@pytest.mark.parametrize(
    "mechanism",
    [
        baseline(2, 1.0),
        certified(Box((0.0, 5.0), (1.0, 9.0)), 1.0),
        paper_mode1(Box.unit(2), 1.0, dim_x=4),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_a_draw_takes_the_same_words_in_the_same_calls_whatever_the_code_and_the_noise(mechanism):
    asked, rng = set(), np.random.default_rng(1)
    for _ in range(200):
        entropy = Counted()
        mechanism.privatise(rng.uniform(-2, 12, size=(1, mechanism.dim)), entropy=entropy)
        asked.add(tuple(entropy.asked))
    assert len(asked) == 1


def test_noise_has_the_stated_scale_in_every_coordinate():
    mechanism = certified(Box((0.0, 5.0, -1.0), (1.0, 9.0, 1.0)), 1.0)
    code = np.tile([0.5, 7.0, 0.0], (40_000, 1))
    noise = mechanism.privatise(code, entropy=SeededEntropy(4)) - code
    for column, scale in zip(noise.T, mechanism.noise_scales, strict=True):
        assert stats.kstest(column / scale, stats.laplace.cdf).pvalue > 1e-3
    assert np.abs(np.corrcoef(noise.T) - np.eye(3)).max() < 0.03


def test_expected_error_is_the_measured_one():
    mechanism = certified(Box((0.0, -2.0), (1.0, 2.0), 16), 3.0)
    code = mechanism.box.from_grid(np.full((60_000, 2), 8))
    error = np.abs(mechanism.privatise(code, entropy=SeededEntropy(5)) - code).sum(axis=1)
    assert error.mean() == pytest.approx(expected_noise(mechanism), rel=0.02)


def test_two_windows_are_told_apart_no_better_than_epsilon_allows():
    mechanism = baseline(1, 1.0, grid_steps=1)
    low, high = (mechanism.privatise(np.full((100_000, 1), x), entropy=SeededEntropy(6)) for x in (0.0, 1.0))
    ratio = np.log((low <= 0).mean() / (high <= 0).mean())
    assert 0.95 < ratio < 1.03  # the stated epsilon, within four standard errors


def test_released_values_lie_on_the_public_grid():
    mechanism = certified(Box((0.0,), (1.0,), 256), 1.0)
    released = mechanism.privatise(np.random.default_rng(0).random((500, 1)), entropy=SystemEntropy())
    assert (released * 256 == np.rint(released * 256)).all()


def test_release_never_fails_on_strange_numbers():
    strange = np.array([[np.nan, np.inf], [-np.inf, 1e308], [-0.0, 5e-324]])
    assert np.isfinite(baseline(2, 1.0).privatise(strange, entropy=SystemEntropy())).all()


def test_codes_of_another_width_are_refused():
    with pytest.raises(InputError, match="3 coordinates"):
        baseline(3, 1.0).privatise(np.zeros((2, 4)), entropy=SystemEntropy())
