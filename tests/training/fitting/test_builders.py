"""The channel that a policy gets: what is counted, what is given, and what stands in for counts that are too few."""

from dataclasses import replace

import numpy as np

from deeprotect.privacy.channel.calibration import FEWEST_GIVEN
from deeprotect.training.fitting.fit import export, learn
from deeprotect.training.fitting.fitted_models import FittedModels

GIVEN = {"mechanism": "channel", "guarantee": "named", "epsilon": 3.0, "given": "useful"}


def test_a_channel_given_the_useful_label_is_counted_for_each_class_of_it(gym_windows, gym_policy):
    policy = gym_policy.vary(privacy=GIVEN, training={"max_epochs": 2})
    protection = learn(FittedModels(gym_windows), policy)
    channel, labels = protection.mechanism, gym_windows.labels
    assert channel.event.given == ("activity",)
    for table in channel.secrets:
        for name, windows in zip(table.classes, table.windows, strict=True):
            assert windows == ((labels["activity"] == table.given) & (labels["person"] == name)).sum() >= FEWEST_GIVEN
    bundle = export(protection, policy, windows=gym_windows, results=[])
    assert bundle.mechanism.certificate() == channel.certificate()


def test_where_nothing_is_seen_often_enough_the_channel_is_ldp(gym_windows, gym_policy):
    """Everybody is somebody else after a few windows."""
    few = np.array([f"p{number // 5}" for number in range(len(gym_windows))], dtype=object)
    windows = replace(gym_windows, labels={**gym_windows.labels, "person": few})
    policy = gym_policy.vary(privacy=GIVEN | {"ldp_ceiling": 2.0}, training={"max_epochs": 2})
    protection = learn(FittedModels(windows), policy)
    assert str(protection.mechanism.event) == "ε = 2 ldp per window"
    bundle = export(protection, policy, windows=windows, results=[])
    assert bundle.policy.privacy.given == "useful"
