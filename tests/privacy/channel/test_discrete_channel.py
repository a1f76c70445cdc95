"""The channel keeps its epsilons in exact integers, draws what they say, and cannot be loaded once it does not."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deeprotect.errors import PolicyError
from deeprotect.privacy.channel.design import design, make
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.channel.ratios import WHOLE, log_up
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.privacy.events import Event

seeds = st.integers(0, 10**6)


def wrong(codes):
    return 1.0 - np.eye(codes)


def ldp(codes=5, epsilon=2.0, **more):
    return make(design(wrong(codes), np.ones(codes), ldp_epsilon=epsilon), **more)


def worst_ratio(channel):
    """The largest ratio of two entries of one column, by comparing all of them."""
    return max(Fraction(a, b) for column in zip(*channel.weights, strict=True) for a in column for b in column if b)


class Script:
    """Entropy that gives the words it was told to give, and then zeros."""

    def __init__(self, *words):
        self._words = list(words)

    def words(self, count):
        given, self._words = self._words[:count], self._words[count:]
        return np.array(given + [0] * (count - len(given)), dtype=np.uint64)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 7), st.floats(1e-4, 60.0), seeds)
def test_the_ldp_of_the_integers_never_exceeds_the_stated_one(codes, epsilon, seed):
    rng = np.random.default_rng(seed)
    plan = design(rng.random((codes, 4)), rng.dirichlet(np.ones(codes)), ldp_epsilon=epsilon)
    channel = make(plan)
    assert all(sum(row) == WHOLE for row in channel.weights)
    assert all(min(column) > 0 or max(column) == 0 for column in zip(*channel.weights, strict=True))
    assert channel.real_epsilon <= epsilon
    assert log_up(worst_ratio(channel)) == channel.real_epsilon
    assert channel.expected_error() == pytest.approx(plan.expected_cost, abs=1e-6)


def test_a_logarithm_is_never_too_small():
    assert log_up(None) == float("inf")
    assert log_up(Fraction(1)) == 0.0
    for ratio in (Fraction(3, 2), Fraction(WHOLE), Fraction(WHOLE + 1, WHOLE), Fraction(10**30, 3)):
        up = log_up(ratio)
        assert up > 0
        assert up == pytest.approx(float(np.log1p(float(ratio - 1))), rel=1e-15, abs=1e-300)
    assert log_up(Fraction(np.exp(1.0).item())) <= 1.0 < log_up(Fraction(np.nextafter(np.e, 3.0).item()))


def test_expected_error_is_the_measured_cost():
    channel = ldp(6, 1.5)
    code = np.tile(np.arange(6.0), 10_000)[:, None]
    released = channel.privatise(code, entropy=SeededEntropy(2))
    assert (released != code).mean() == pytest.approx(channel.expected_error(), abs=0.01)


def test_an_output_that_is_no_use_never_comes():
    cost = np.hstack([wrong(3), np.ones((3, 2))])
    channel = make(design(cost, np.ones(3), ldp_epsilon=1.0))
    assert all(row[3:] == (0, 0) for row in channel.weights)
    assert channel.real_epsilon <= 1.0


def test_the_event_says_what_is_promised():
    assert ldp().event == Event("ldp", 2.0)


def test_without_budget_there_is_no_channel():
    with pytest.raises(PolicyError, match="positive"):
        ldp(epsilon=0.0)


def test_a_certificate_states_what_it_rests_on():
    certificate = ldp(variants=7).certificate()
    assert certificate == json.loads(json.dumps(certificate))
    assert 1.9 < certificate["derived_epsilon"] == certificate["ldp_epsilon"] <= certificate["epsilon"] == 2.0
    assert certificate["assumes"] == []
    assert {"guarantee", "method", "exact", "neighbours", "sensitivity", "mechanism"} <= certificate.keys()


def of_weights(weights):
    """Under an ε so large that they keep it."""
    return DiscreteChannel(Event("ldp", 50.0), weights, (1.0,) * 3, np.zeros((3, 3)))


FIXED = ((WHOLE - 2, 1, 1), (1, WHOLE - 2, 1), (1, WHOLE - 2, 1))


def test_a_channel_without_noise_says_so():
    rarely = ((WHOLE - 9, 4, 5), *FIXED[1:])
    for channel in (of_weights(FIXED), of_weights(rarely)):
        assert channel.codes_without_noise == 3
        assert channel.noise.startswith("none: each code leaves as one fixed output")
        assert channel.noise.endswith("a smaller ε would add noise")
        assert channel.certificate()["noise"] == channel.noise
        assert channel.certificate()["codes_without_noise"] == 3


def test_codes_that_leave_without_noise_are_counted():
    often = WHOLE // 10**5
    channel = of_weights((FIXED[0], (often, WHOLE - often - 1, 1), (1, WHOLE // 2, WHOLE // 2 - 1)))
    assert channel.codes_without_noise == 1
    assert channel.noise.startswith("on 2 of 3 codes: the others leave as one fixed output each")


def test_noise_on_every_code_is_said_and_so_is_a_channel_that_tells_nothing():
    for channel in (ldp(5, 2.0), ldp(5, 10.0)):
        assert channel.codes_without_noise == 0
        assert channel.noise == f"on each of {len(channel.weights)} codes"
    tiny = tuple((WHOLE - n - 1, n, 1) for n in (7, 8, 9))
    for weights in (((0, WHOLE, 0),) * 3, tiny):
        assert of_weights(weights).codes_without_noise == 0
        assert of_weights(weights).noise.startswith("not needed: all windows leave as one and the same output")


def test_a_large_epsilon_needs_no_noise_and_the_channel_says_so():
    assert ldp(4, 40.0).noise.startswith("none: ")
    assert ldp(4, 5.0).noise == "on each of 4 codes"


def test_an_output_that_only_some_codes_can_have_is_refused():
    with pytest.raises(PolicyError, match="weights give epsilon inf"):
        of_weights(((WHOLE, 0, 0), (0, WHOLE, 0), (0, WHOLE, 0)))
