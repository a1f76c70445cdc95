"""What is said about an encoder is enough for what is concluded from it, rounding included."""

from fractions import Fraction

import numpy as np
import pytest

from deeprotect.errors import PolicyError
from deeprotect.privacy.box import Box
from deeprotect.privacy.evidence import Linear, Relaxed
from deeprotect.privacy.laplace import paper_mode2
from deeprotect.privacy.relaxed import basis
from deeprotect.privacy.sensitivity import linear_l1

EVEN = (Fraction(1),) * 3
WEIGHTS = np.linalg.qr(np.random.default_rng(1).normal(size=(12, 3)))[0].T
DIRECTIONS = basis(np.random.default_rng(0).normal(size=(12, 2)))
WIDE = Box((-9.0,) * 3, (9.0,) * 3)


def test_a_linear_encoder_pays_one_step_for_rounding_and_one_for_float32():
    bound = Linear(WEIGHTS).bound(WIDE, EVEN)
    assert bound.slack == (2, 2, 2)
    assert bound.total == Fraction(linear_l1(WEIGHTS).value)


def test_a_grid_as_fine_as_float32_pays_more_steps():
    fine = Box((-9.0,) * 3, (9.0,) * 3, 2**24)
    assert min(Linear(WEIGHTS).bound(fine, EVEN).slack) > 10


@pytest.mark.parametrize("bias", [0.0, 8.0])
def test_float32_evaluation_stays_within_the_steps_paid_for(bias):
    fine = Box((-9.0,) * 3, (9.0,) * 3, 2**24)
    paid = np.array(Linear(WEIGHTS).bound(fine, EVEN).slack) - 1
    windows = np.random.default_rng(2).random((2000, 12))
    true = windows @ WEIGHTS.T + bias
    computed = windows.astype(np.float32) @ WEIGHTS.T.astype(np.float32) + np.float32(bias)
    step = float(fine.steps[0])
    assert (2 * np.abs(computed - true).max(axis=0) / step <= paid).all()


def test_uneven_noise_weighs_the_features_apart():
    shape = (Fraction(1), Fraction(2), Fraction(4))
    bound = Linear(WEIGHTS).bound(WIDE, shape)
    assert float(bound.total) == pytest.approx(linear_l1(WEIGHTS / [[1.0], [2.0], [4.0]]).value)


@pytest.mark.parametrize("lipschitz", [0.25, 0.5, 1.0])
def test_relaxed_evidence_is_the_chain_of_norms_and_two_steps(lipschitz):
    evidence = Relaxed(DIRECTIONS, lipschitz)
    bound = evidence.bound(WIDE, EVEN)
    assert float(bound.total) == pytest.approx(lipschitz * np.sqrt(3) * 12 * evidence.relaxed.value, rel=1e-6)
    assert float(bound.total) >= lipschitz * np.sqrt(3) * 12 * evidence.relaxed.value
    assert bound.slack == (2, 2, 2)


def test_mode_two_at_lipschitz_constant_one_pays_for_its_rounding_in_noise():
    mechanism = paper_mode2(WIDE, 2.0, directions=DIRECTIONS, lipschitz=1.0)
    literal = np.sqrt(3) * 12 * mechanism.evidence.relaxed.value
    steps = 2 * sum(float(step) for step in WIDE.steps)
    assert mechanism.noise_scales == pytest.approx((literal + steps) / 2.0, rel=1e-6)


def test_relaxed_evidence_is_for_even_noise():
    with pytest.raises(PolicyError, match="same noise"):
        Relaxed(DIRECTIONS, 0.5).bound(WIDE, (Fraction(1), Fraction(2), Fraction(1)))
