"""The paper's utility theorems in numbers: what holds exactly, and where the paper's text says more."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deeprotect.privacy.box import Box
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.privacy.mechanisms.laplace import baseline, certified, paper_mode1, paper_mode2
from deeprotect.privacy.mechanisms.relaxed import basis, relaxed_sensitivity
from studies.features.expected_noise import expected_noise

dims = st.tuples(st.integers(1, 12), st.integers(1, 40)).map(sorted)


@settings(deadline=None, max_examples=25)
@given(dims, st.floats(0.1, 10.0))
def test_certified_mode_one_gains_dim_x_over_dim_f_per_coordinate(sizes, epsilon):
    features, dim = sizes
    ours, base = certified(Box.unit(features), epsilon), baseline(dim, epsilon)
    assert base.noise_scales[0] / ours.noise_scales[0] == pytest.approx(dim / features, rel=1e-5)
    assert expected_noise(base) / expected_noise(ours) == pytest.approx((dim / features) ** 2, rel=1e-3)


@settings(deadline=None, max_examples=25)
@given(dims, st.floats(0.1, 10.0))
def test_the_papers_own_scale_loses_root_dim_f_per_coordinate(sizes, epsilon):
    features, dim = sizes
    paper, base = paper_mode1(Box.unit(features), epsilon, dim_x=dim), baseline(dim, epsilon)
    assert base.noise_scales[0] / paper.noise_scales[0] == pytest.approx(features**-0.5, rel=1e-5)
    assert expected_noise(base) / expected_noise(paper) == pytest.approx(dim / features**1.5, rel=1e-3)


def test_after_an_orthonormal_decoder_the_paper_loses_and_certified_noise_gains():
    features, dim = 7, 30
    decoder = np.linalg.qr(np.random.default_rng(0).normal(size=(dim, features)))[0].T

    def error(mechanism, code, decode):
        noise = mechanism.privatise(code, entropy=SeededEntropy(3)) - code
        return np.sqrt(np.mean((noise @ decode) ** 2))

    code = np.full((20_000, features), 0.5)
    base = error(baseline(dim, 5.0), np.full((20_000, dim), 0.5), np.eye(dim))
    paper = error(paper_mode1(Box.unit(features), 5.0, dim_x=dim), code, decoder)
    ours = error(certified(Box.unit(features), 5.0), code, decoder)
    assert base / paper == pytest.approx(dim**0.5 / features, rel=0.03)
    assert base / ours == pytest.approx((dim / features) ** 1.5, rel=0.03)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 10**6), st.integers(1, 2))
def test_mode_two_gains_the_inverse_of_the_relaxed_sensitivity_over_mode_one(seed, rank):
    directions = basis(np.random.default_rng(seed).normal(size=(20, rank)))
    box = Box((0.0,) * 7, (0.1,) * 7)
    first, second = paper_mode1(box, 1.0, dim_x=20), paper_mode2(box, 1.0, directions=directions)
    gain = 1.0 / relaxed_sensitivity(directions).value
    assert gain > 1.0
    assert expected_noise(first) / expected_noise(second) == pytest.approx(gain, rel=1e-4)


@pytest.mark.parametrize(("width", "gain"), [(1.0, 11.3), (2.0, 5.66)], ids=["sigmoid", "tanh"])
def test_certified_mode_one_adds_at_least_five_times_less_noise_than_the_paper(width, gain):
    box = Box((0.0,) * 7, (width,) * 7)
    ratio = expected_noise(paper_mode1(box, 5.0, dim_x=30)) / expected_noise(certified(box, 5.0))
    assert ratio == pytest.approx(gain, abs=0.05)
    assert ratio >= 5.0


def test_post_processing_reads_the_noisy_code_only():
    # Two private codes on the same grid point are one and the same to everything downstream.
    mechanism = certified(Box.unit(2, grid_steps=4), 1.0)
    rng = np.random.default_rng(0)
    code = np.full((50, 2), 0.5)
    near = code + rng.uniform(-0.12, 0.12, code.shape)
    released = [mechanism.privatise(x, entropy=SeededEntropy(1)) for x in (code, near)]
    assert (released[0] == released[1]).all()
