"""A first measurement of a fresh protector on windows it has not seen: what an app and an attacker read of them."""

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from deeprotect.policy import Policy
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.signals.episodes import run_lengths
from deeprotect.signals.schema import Floats
from deeprotect.training.fitting.trained import TrainedProtector
from deeprotect.training.labelled_windows import LabelledWindows
from deeprotect.training.misclassification import Costs, price


def measure(
    protection: TrainedProtector, train: LabelledWindows, test: LabelledWindows, policy: Policy
) -> dict[str, Any]:
    """Accuracy of a forest that knows raw windows, on raw and on released ones; of a retrained attacker; of guessing.

    Where the policy gives costs, also what the misreadings of released windows cost on average.
    """
    released = _released(protection, test, policy)
    event, sensitive = protection.mechanism.event, policy.inferences.sensitive
    seen = _released(protection, train, policy) if sensitive else None
    return {
        "mechanism": protection.mechanism.name,
        "guarantee": event.guarantee,
        "epsilon": event.epsilon,
        "windows": len(test),
        "useful": _apps(train, test, policy, released=released),
        "sensitive": {name: _attacker(name, train, test, seen=seen, released=released) for name in sensitive},
    }


def measure_useful(
    protection: TrainedProtector, train: LabelledWindows, test: LabelledWindows, policy: Policy
) -> dict[str, dict[str, float]]:
    """Of each useful inference, what a forest that knows raw windows reads of released ones; nobody attacks."""
    return _apps(train, test, policy, released=_released(protection, test, policy))


def _apps(
    train: LabelledWindows, test: LabelledWindows, policy: Policy, *, released: Floats
) -> dict[str, dict[str, float]]:
    costs = policy.training.cost_matrix
    return {name: _app(name, train, test, released=released, costs=costs) for name in policy.inferences.useful}


def _released(protection: TrainedProtector, windows: LabelledWindows, policy: Policy) -> Floats:
    counts = run_lengths(windows.episodes(policy.hold))
    return protection.release(windows.flat, counts, entropy=SystemEntropy()).windows


def _attacker(
    name: str, train: LabelledWindows, test: LabelledWindows, *, seen: Any, released: Any
) -> dict[str, float]:
    """One that is as good on released windows as it can be: trained on such, with their labels."""
    known, tested = train.labelled(name), test.labelled(name)
    learnt, truth = train.labels[name][known].astype(str), test.labels[name][tested].astype(str)
    if not len(truth):
        return {}
    read = {
        "raw": _forest().fit(train.flat[known], learnt).predict(test.flat[tested]),
        "adaptive": _forest().fit(seen[known], learnt).predict(released[tested]),
    }
    chance = float(np.unique(truth, return_counts=True)[1].max() / len(truth))
    return {model: float(np.mean(guess == truth)) for model, guess in read.items()} | {"chance": chance}


def _forest() -> RandomForestClassifier:
    return RandomForestClassifier(100, n_jobs=-1, random_state=0)


def _app(name: str, train: LabelledWindows, test: LabelledWindows, *, released: Any, costs: Costs) -> dict[str, float]:
    known, seen = train.labelled(name), test.labelled(name)
    truth = test.labels[name][seen].astype(str)
    if not len(truth):
        return {}
    app = _forest()
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
