"""The channel that a policy gets: what is calibrated, what is given, and what holds where recordings are too few."""

from dataclasses import replace

import numpy as np
import pytest

from deeprotect.bundle.card import card
from deeprotect.training.codebook.calibration_recordings import CalibrationDraws, calibrating
from deeprotect.training.fitting.fit import export, learn
from deeprotect.training.fitting.fitted_models import FittedModels

GIVEN = {"mechanism": "channel", "guarantee": "named", "epsilon": 3.0, "given": "useful"}


@pytest.fixture(scope="module")
def models(short_recordings):
    return FittedModels(short_recordings(1))


def quick(policy, **privacy):
    return policy.vary(privacy=GIVEN | privacy, training={"max_epochs": 2})


def test_sets_are_those_of_the_shipped_coder_on_recordings_that_it_did_not_learn_from(models, gym_policy):
    """What a bundle says can be worked out again from its own encoder and the recordings that were kept apart."""
    policy, windows = quick(gym_policy), models.windows
    protection = learn(models, policy)
    channel = protection.mechanism
    assert channel.event.given == ("activity",)
    assert len(channel.promises) == 3
    kept = windows[calibrating(windows, ("activity",), seed=policy.training.seed)]
    coded = protection.encode(kept.flat)[:, 0].astype(int)
    draws = CalibrationDraws.of(kept, coded, hold=policy.hold, codes=len(channel.codes))
    useful = np.searchsorted(channel.outputs, kept.labels["activity"].astype(str))
    assert list(channel.outputs) == sorted(channel.outputs)
    options = {"epsilon": 3.0, "useful": useful, "names": channel.outputs}
    shares = replace(draws.shares("person", windows.classes("person"), **options), classes=tuple("12345"))
    found = shares.calibrated(confidence=0.95)
    assert tuple(found[0]) == channel.promises
    bundle = export(protection, policy, windows=windows, results=[])
    assert bundle.mechanism.certificate() == channel.certificate()


def test_no_class_has_a_number_of_its_own_in_a_bundle(models, gym_policy):
    fields = learn(models, quick(gym_policy)).mechanism.to_json()
    for promise in fields["promises"]:
        assert {name for name, value in promise.items() if isinstance(value, list)} == {"classes", "low", "high"}
        assert len(promise["low"]) == len(promise["high"]) == len(fields["weights"])


def test_where_recordings_are_too_few_the_channel_is_ldp_and_the_card_says_how_many_it_takes(gym_windows, gym_policy):
    """Fifteen recordings, one of each person and activity."""
    policy = quick(gym_policy, ldp_ceiling=2.0)
    protection = learn(FittedModels(gym_windows), policy)
    assert str(protection.mechanism.event) == "ε = 2 ldp per window"
    bundle = export(protection, policy, windows=gym_windows, results=[])
    assert bundle.policy.privacy.given == "useful"
    text = card(bundle)
    assert "There is no named promise, and the release is LDP instead, because 15 combinations of" in text
    assert "have too few recordings: one has 0 recordings to calibrate with and needs 12; record about 24" in text


def test_a_class_with_few_recordings_is_held_by_the_ceiling_and_without_one_all_is_ldp(short_recordings, gym_policy):
    windows = short_recordings(1)
    rare = (windows.labels["person"] == "p4") & (windows.recording % 10 > 0)
    models = FittedModels(windows[~rare])
    some = learn(models, quick(gym_policy, ldp_ceiling=5.0)).mechanism
    assert {each.classes for each in some.promises} == {("1", "2", "3", "4")}
    assert {each.classes for each in some.unpromised} == {("5",)}
    assert some.ldp_epsilon <= 5.0
    assert (some.event.guarantee, some.event.epsilon) == ("named", 3.0)
    none = learn(models, quick(gym_policy)).mechanism
    assert str(none.event) == "ε = 3 ldp per window"
    assert none.unpromised == some.unpromised
