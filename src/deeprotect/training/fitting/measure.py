"""A first measurement of a fresh protector on windows it has not seen: does an unchanged app still read them?"""

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from deeprotect.policy import Policy
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.signals.episodes import run_lengths
from deeprotect.training.fitting.trained import TrainedProtector
from deeprotect.training.labelled_windows import LabelledWindows
from deeprotect.training.misclassification import Costs, price


def measure(
    protection: TrainedProtector, train: LabelledWindows, test: LabelledWindows, policy: Policy
) -> dict[str, Any]:
    """Useful accuracy of a forest trained on raw windows, on raw and on released windows; and of guessing.

    Where the policy gives costs, also what the misreadings of released windows cost on average.
    """
    counts = run_lengths(test.episodes(policy.hold))
    released = protection.release(test.flat, counts, entropy=SystemEntropy())
    event = protection.mechanism.event
    return {
        "mechanism": protection.mechanism.name,
        "guarantee": event.guarantee,
        "epsilon": event.epsilon,
        "windows": len(test),
        "useful": {
            name: _app(name, train, test, released=released, costs=policy.training.cost_matrix)
            for name in policy.inferences.useful
        },
    }


def _app(name: str, train: LabelledWindows, test: LabelledWindows, *, released: Any, costs: Costs) -> dict[str, float]:
    known, seen = train.labelled(name), test.labelled(name)
    truth = test.labels[name][seen].astype(str)
    if not len(truth):
        return {}
    app = RandomForestClassifier(100, n_jobs=-1, random_state=0)
    app.fit(train.flat[known], train.labels[name][known].astype(str))
    read = app.predict(released[seen])
    numbers = {
        "clean": float(np.mean(app.predict(test.flat[seen]) == truth)),
        "app": float(np.mean(read == truth)),
        "chance": float(np.unique(truth, return_counts=True)[1].max() / len(truth)),
    }
    if costs:
        numbers["app_cost"] = float(
            np.mean([price(*pair, costs.get(name, {})) for pair in zip(truth, read, strict=True)])
        )
    return numbers
