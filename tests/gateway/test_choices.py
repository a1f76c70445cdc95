import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.channels import LIMITED, channel_bundle

from deeprotect.bundle import Bundle
from deeprotect.errors import InputError
from deeprotect.gateway.offers.choices import mixed, share_of, varied
from deeprotect.policy import Policy
from deeprotect.privacy.channel.ratios import WHOLE, ldp_ratio, log_up
from deeprotect.release.ledger.price import Price

BUNDLE = channel_bundle()


@given(
    epsilon=st.decimals("0.01", "5", places=6).map(str),
    prior=st.lists(st.floats(0.01, 1.0), min_size=4, max_size=4),
)
def test_a_chosen_epsilon_holds_by_the_integers_of_the_channel(epsilon, prior):
    found = varied(channel_bundle(prior=tuple(prior)), epsilon, None)
    weights = found.mechanism.weights
    assert log_up(ldp_ratio(weights)) <= float(epsilon)
    assert {sum(row) for row in weights} == {WHOLE}
    assert found.mechanism.event.epsilon == float(epsilon) == found.manifest.certificate["epsilon"]


@given(epsilon=st.floats(0.05, 4.999))
def test_hardly_more_is_thrown_away_than_the_promise_needs(epsilon):
    found = mixed(BUNDLE.mechanism, epsilon)
    assert found.ldp_epsilon == pytest.approx(epsilon, rel=1e-9)


@given(epsilon=st.floats(0.05, 4.999))
def test_randomised_response_stays_randomised_response(epsilon):
    """With even codes the mix is the best channel there is at the smaller ε."""
    found = mixed(BUNDLE.mechanism, epsilon).probabilities
    best = math.exp(epsilon) / (math.exp(epsilon) + 3)
    assert np.allclose(np.diag(found), best, atol=1e-9)


def test_mixing_is_throwing_draws_away():
    """Every row is the same mix of what it was and of one public row: post-processing, whatever the guarantee was."""
    channel = BUNDLE.mechanism
    share = float(share_of(channel, 2.0))
    assert np.allclose(mixed(channel, 2.0).probabilities, (1 - share) * channel.probabilities + share / 4, atol=1e-15)


@pytest.mark.parametrize("epsilon", ["5.000001", "6", "1e9", "inf", "nan", "0", "-1", "five", "1" * 30, "1e-9"])
def test_what_would_raise_epsilon_or_is_no_number_is_refused_in_one_line(epsilon):
    with pytest.raises(InputError) as refusal:
        varied(BUNDLE, epsilon, None)
    assert "\n" not in str(refusal.value)


def test_a_longer_hold_is_one_draw_for_more_windows():
    found = varied(BUNDLE, None, 30)
    assert (found.hold.windows, found.mechanism.event.per) == (30, "episode")
    assert found.policy.privacy.every == "12 s"
    assert found.mechanism.weights == BUNDLE.mechanism.weights


def test_a_shorter_hold_is_refused():
    held = varied(BUNDLE, None, 10)
    with pytest.raises(InputError, match="would cost more"):
        varied(held, None, 5)


def test_a_named_promise_rests_on_counts_and_is_left_alone(named_bundle):
    for choice in (("0.2", None), (None, 4)):
        with pytest.raises(InputError, match="only a bundle that promises ldp"):
            varied(named_bundle, *choice)


def test_noise_on_samples_can_be_held_longer_but_not_mixed(bundle):
    with pytest.raises(InputError, match="a channel that promises ldp"):
        varied(bundle, "2", None)
    assert varied(bundle, None, 5).mechanism.event.per == "episode"


def test_the_bundles_own_choice_is_the_bundle():
    assert varied(BUNDLE, None, None) is BUNDLE
    assert varied(BUNDLE, "5.0", 1) is BUNDLE


def test_a_varied_bundle_is_a_bundle_of_its_own(tmp_path):
    """Another digest, so another key in the ledger; figures that were measured at another ε are gone."""
    found = varied(BUNDLE, "2.5", 10)
    found.save(tmp_path / "varied")
    again = Bundle.load(tmp_path / "varied")
    assert again.digest == found.digest != BUNDLE.digest
    assert again.manifest.results == []
    assert "expected_accuracy" not in again.manifest.minimiser.model_dump()
    assert float(Price.of(again.mechanism).epsilon) == 2.5


def test_limits_stay_with_a_varied_bundle():
    found = varied(BUNDLE, "2.5", 10)
    assert found.policy.privacy.budget == Policy.from_toml(LIMITED).privacy.budget
