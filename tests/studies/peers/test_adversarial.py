"""The anonymising autoencoder."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from tests.studies.peers.conftest import fit_peer, texts

from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import LabelledWindows


@pytest.mark.long
def test_a_static_attacker_falls_far_before_the_adversarial_autoencoder_and_the_app_stays(
    windows: LabelledWindows, policy: Policy
) -> None:
    learn = np.arange(len(windows)) % 2 == 0
    private, released = windows.flat, fit_peer("adversarial", windows, policy)(windows.flat)
    raw, seen = {}, {}
    for name in ("activity", "person"):
        labels = texts(windows, name)
        model = RandomForestClassifier(30, random_state=0).fit(private[learn], labels[learn])
        raw[name] = model.score(private[~learn], labels[~learn])
        seen[name] = model.score(released[~learn], labels[~learn])
    assert raw["person"] > 0.9
    assert seen["person"] < 0.6  # chance is a third
    assert seen["activity"] > 0.7


@pytest.mark.usefixtures("hurry")
def test_the_adversarial_autoencoder_repeats_itself_with_its_seed(windows: LabelledWindows, policy: Policy) -> None:
    other = Policy.from_tables(policy.model_dump(exclude_unset=True) | {"training": {"seed": 1}})
    first, again, another = (fit_peer("adversarial", windows, each)(windows.flat) for each in (policy, policy, other))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, another)
