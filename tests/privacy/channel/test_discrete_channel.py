"""The channel keeps its epsilons in exact integers, draws what they say, and cannot be loaded once it does not."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recordings import correlated, promises

from deeprotect.errors import PolicyError
from deeprotect.privacy.accounting import Spending
from deeprotect.privacy.channel.betting import UNIT
from deeprotect.privacy.channel.calibration import RecordedShares
from deeprotect.privacy.channel.design import design, make, round_rows
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.channel.ratios import WHOLE, log_up
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.privacy.events import Event

seeds = st.integers(0, 10**6)
COUNTS = np.array([[90, 60, 30, 20], [40, 60, 50, 50], [60, 60, 40, 40]])


def wrong(codes):
    return 1.0 - np.eye(codes)


def person(counts=COUNTS, epsilon=1.0, recordings=200, **more):
    return promises(counts, epsilon=epsilon, recordings=recordings, **more)


def ldp(codes=5, epsilon=2.0, **more):
    return make(design(wrong(codes), np.ones(codes), ldp_epsilon=epsilon), **more)


def named(epsilon=1.0, ceiling=None, **more):
    return make(design(wrong(4), np.ones(4), promises=person(epsilon=epsilon), ldp_epsilon=ceiling), **more)


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
    assert log_up(worst_ratio(channel)) == channel.ldp_epsilon
    assert channel.expected_error() == pytest.approx(plan.expected_cost, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 5), st.integers(2, 4), st.floats(0.01, 30.0), st.booleans())
def test_the_named_epsilon_of_the_integers_never_exceeds_the_stated_one(seed, codes, classes, epsilon, capped):
    rng = np.random.default_rng(seed)
    named = person(1 + rng.integers(0, 50, (classes, codes)), epsilon, 40)
    plan = design(wrong(codes), rng.dirichlet(np.ones(codes)), promises=named, ldp_epsilon=2.0 if capped else None)
    channel = make(plan)
    assert channel.real_epsilon <= epsilon
    assert not capped or channel.ldp_epsilon <= 2.0
    assert channel.real_epsilon <= channel.ldp_epsilon
    assert channel.expected_error() == pytest.approx(plan.expected_cost, abs=1e-5)


def exact_extreme(column, low, high, *, most):
    """Greedy in fractions, one output and one class at a time."""
    p, left = list(low), 1 - sum(low)
    for z in sorted(range(len(low)), key=lambda z: column[z], reverse=most):
        more = min(left, high[z] - low[z])
        p[z], left = p[z] + more, left - more
    return sum(weight * part for weight, part in zip(column, p, strict=True))


@settings(max_examples=25, deadline=None)
@given(seeds, st.integers(2, 5), st.integers(2, 4))
def test_the_named_epsilon_is_the_largest_ratio_in_exact_fractions(seed, codes, classes):
    rng = np.random.default_rng(seed)
    (promise,) = person(1 + rng.integers(0, 50, (classes, codes)), 50.0, 30, confidence=0.9)
    weights = round_rows(rng.dirichlet(np.full(3, 0.3), size=codes) * 0.999 + 0.001 / 3)
    event = Event("named", 50.0, inferences=("person",), confidence=0.9)
    channel = DiscreteChannel(event, weights, (1.0,) * codes, np.zeros((codes, 3)), promises=(promise,))
    low, high = ([Fraction(end, UNIT) for end in ends] for ends in (promise.low, promise.high))
    ratios = [
        exact_extreme(column, low, high, most=True) / exact_extreme(column, low, high, most=False)
        for column in zip(*weights, strict=True)
    ]
    assert channel.named_epsilons == (log_up(max(ratios)),)


def test_a_logarithm_is_never_too_small():
    assert log_up(None) == float("inf")
    assert log_up(Fraction(1)) == 0.0
    for ratio in (Fraction(3, 2), Fraction(WHOLE), Fraction(WHOLE + 1, WHOLE), Fraction(10**30, 3)):
        up = log_up(ratio)
        assert up > 0
        assert up == pytest.approx(float(np.log1p(float(ratio - 1))), rel=1e-15, abs=1e-300)
    assert log_up(Fraction(np.exp(1.0).item())) <= 1.0 < log_up(Fraction(np.nextafter(np.e, 3.0).item()))


@pytest.mark.long
@pytest.mark.parametrize("correlation", [0.0, 0.03, 0.1, 0.3])
def test_the_promise_holds_for_the_next_recording_as_often_as_stated(correlation):
    """Truths differ just so much that ε = 0.7 binds; windows of a recording go together."""
    rng, kept = np.random.default_rng(11), 0
    for _ in range(60):
        truth = rng.dirichlet([8.0, 5.0, 2.0], size=2)
        cells = [correlated(rng, p, recordings=25, windows=40, correlation=correlation) for p in truth]
        found, _ = RecordedShares("person", ("a", "b"), [cells], 0.7).calibrated(confidence=0.8)
        channel = make(design(wrong(3), np.ones(3), promises=found, confidence=0.8))
        released = truth @ channel.probabilities
        kept += bool(np.log(released.max(axis=0) / released.min(axis=0)).max() <= 0.7)
    assert kept >= 0.8 * 60


def test_a_class_with_few_recordings_is_given_more_noise():
    few, many = (make(design(wrong(4), np.ones(4), promises=person(recordings=n))) for n in (20, 2000))
    assert few.expected_error() > many.expected_error() + 0.1


def test_expected_error_is_the_measured_cost():
    channel = ldp(6, 1.5)
    code = np.tile(np.arange(6.0), 10_000)[:, None]
    released = channel.privatise(code, entropy=SeededEntropy(2))
    assert (released != code).mean() == pytest.approx(channel.expected_error(), abs=0.01)


def test_an_output_that_is_no_use_never_comes():
    cost = np.hstack([wrong(3), np.ones((3, 2))])
    channel = make(design(cost, np.ones(3), ldp_epsilon=1.0))
    assert all(row[3:] == (0, 0) for row in channel.weights)
    assert channel.ldp_epsilon <= 1.0


def test_the_event_says_what_is_promised():
    assert ldp().event == Event("ldp", 2.0)
    assert named(ceiling=3.0).event == Event("named", 1.0, inferences=("person",), confidence=0.95)
    assert Spending.of(named().event, 1).per_stream == 1.0
    assert Spending.of(named().event, 2).per_stream == float("inf")


def test_without_budget_there_is_no_channel():
    with pytest.raises(PolicyError, match="positive"):
        ldp(epsilon=0.0)


def test_a_certificate_states_what_it_rests_on():
    certificate = named(1.0, 3.0, variants=7).certificate()
    assert certificate == json.loads(json.dumps(certificate))
    assert 0.5 < certificate["derived_epsilon"] <= certificate["epsilon"] == 1.0
    assert certificate["ldp_epsilon"] <= certificate["ldp_ceiling"] == 3.0
    assert certificate["confidence"] == 0.95
    assert certificate["secrets"][0]["recordings"] == 200
    assert certificate["secrets"][0]["promised"] == 3
    assert certificate["assumes"][0].startswith("recordings are independent of each other")
    assert ldp().certificate()["assumes"] == []
    assert {"guarantee", "method", "exact", "neighbours", "sensitivity", "mechanism"} <= certificate.keys()


def test_the_stated_confidence_is_that_of_all_sensitive_inferences_together():
    """A set that is right with 0.95 alone is too narrow beside another: such a channel is refused."""
    gender = promises(COUNTS[:2], inference="gender", classes=("f", "m"), inferences=2, recordings=20)
    beside = [*person(inferences=2, recordings=20), *gender]
    made = make(design(wrong(4), np.ones(4), promises=beside))
    assert made.certificate()["confidence"] == 0.95
    sharp = [[1, 0, 0, 0], [1, 0, 0, 0]]  # the narrowest sets that so many recordings give
    alone = promises(sharp, inference="gender", classes=("f", "m"), recordings=20)
    with pytest.raises(PolicyError, match="20 recordings give wider sets"):
        replace(made, promises=(beside[0], replace(alone[0])))


def test_a_set_that_is_narrower_than_its_recordings_allow_is_refused():
    made = named()
    (promise,) = made.promises
    for altered, says in (
        (replace(promise, recordings=promise.recordings // 2), None),
        (replace(promise, recordings=14, high=(UNIT // 3, *promise.high[1:])), "wider sets"),
        (replace(promise, recordings=3), "calibration recordings of each class"),
    ):
        if says is None:
            assert replace(made, promises=(altered,)).real_epsilon == made.real_epsilon
            continue
        with pytest.raises(PolicyError, match=says):
            replace(made, promises=(altered,))


FIXED = ((WHOLE, 0, 0), (0, WHOLE, 0), (0, WHOLE, 0))


def without_promise(weights):
    """Any weights, under a promise so weak that they keep it."""
    weak = person([[2, 2, 2], [2, 2, 2]], 30.0, 400)
    event = Event("named", 30.0, inferences=("person",), confidence=0.95)
    return DiscreteChannel(event, weights, (1.0,) * 3, np.zeros((3, 3)), promises=tuple(weak))


def test_a_channel_without_noise_says_so():
    tiny = ((WHOLE - 9, 4, 5), *FIXED[1:])
    for channel in (without_promise(FIXED), without_promise(tiny)):
        assert channel.codes_without_noise == 3
        assert channel.noise.startswith("none: each code leaves as one fixed output")
        assert channel.certificate()["noise"] == channel.noise
        assert channel.certificate()["codes_without_noise"] == 3


def test_codes_that_leave_without_noise_are_counted():
    often = WHOLE // 10**5
    channel = without_promise((FIXED[0], (often, WHOLE - often, 0), (0, WHOLE // 2, WHOLE // 2)))
    assert channel.codes_without_noise == 1
    assert channel.noise.startswith("on 2 of 3 codes: the others leave as one fixed output each")


def test_noise_on_every_code_is_said_and_so_is_a_channel_that_tells_nothing():
    for channel in (ldp(5, 2.0), ldp(5, 10.0), named(1.0, 5.0)):
        assert channel.codes_without_noise == 0
        assert channel.noise == f"on each of {len(channel.weights)} codes"
    tiny = tuple((WHOLE - n, n, 0) for n in (7, 8, 9))
    for weights in (((0, WHOLE, 0),) * 3, tiny):
        assert without_promise(weights).codes_without_noise == 0
        assert without_promise(weights).noise.startswith("not needed: all windows leave as one and the same output")


def test_a_promise_that_needs_no_noise_is_designed_without_and_says_so():
    """Codes that tell nothing about the secret pass as they are, unless a ceiling is set."""
    alike = person(np.full((2, 4), 300), 2.0, 400)
    assert make(design(wrong(4), np.ones(4), promises=alike)).noise.startswith("none: ")
    assert make(design(wrong(4), np.ones(4), promises=alike, ldp_epsilon=5.0)).noise == "on each of 4 codes"
