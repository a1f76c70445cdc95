"""Which mechanism a policy gets when it leaves the choice: the one with the best released utility to be expected."""

from dataclasses import replace

import numpy as np

from deeprotect.policy import Policy
from deeprotect.privacy.accuracy_bound import best_laplace_accuracy
from deeprotect.training.fitting.builders import build, ldp_epsilon
from deeprotect.training.fitting.fitted_models import FittedModels
from deeprotect.training.fitting.measure import measure_useful
from deeprotect.training.fitting.trained import TrainedProtector
from deeprotect.training.labelled_windows import LabelledWindows

RIVALS = {
    "ldp": ("laplace",),
    "named": ("laplace",),
    "rldp": ("subspace", "laplace"),
}
"""Of the channel, by guarantee; an ε-LDP release keeps the weaker promises, too."""


def select(models: FittedModels, policy: Policy) -> TrainedProtector:
    """The best protector; it says what was expected of each: accuracy, or what the policy's costs make of misreadings.

    The channel's book is cross-fitted over all windows, so its own expectation is honest and it is built once; the
    others are fitted on a part of the windows and measured on the rest, unless they could not reach the channel.
    """
    channel = build("channel", models, policy)
    expected = {"channel": _expected(channel, policy)}
    for name in RIVALS[policy.privacy.guarantee]:
        most = _most(name, models.windows, policy)
        hopeless = most < expected["channel"] and not policy.training.cost_matrix
        expected[name] = most if hopeless else _validated(name, models, policy)
    best = (min if policy.training.cost_matrix else max)(expected, key=expected.__getitem__)
    protection = channel if best == "channel" else build(best, models, policy)
    reason = "chosen_for_expected_cost" if policy.training.cost_matrix else "chosen_for_expected_accuracy"
    return replace(protection, made_of={**protection.made_of, reason: expected})


def _expected(channel: TrainedProtector, policy: Policy) -> float:
    return float(channel.made_of["expected_cost" if policy.training.cost_matrix else "expected_accuracy"])


def _most(name: str, windows: LabelledWindows, policy: Policy) -> float:
    """The accuracy that no protector of that name surpasses, mean over the useful inferences."""
    if name != "laplace":
        return 1.0
    labels = [windows.labels[useful][windows.labelled(useful)].astype(str) for useful in policy.inferences.useful]
    priors = [np.unique(each, return_counts=True)[1] for each in labels]
    return float(np.mean([best_laplace_accuracy(ldp_epsilon(policy), each) for each in priors]))


def _validated(name: str, models: FittedModels, policy: Policy) -> float:
    """How an unchanged app would read the useful classes of windows that nothing learnt from."""
    validation = models.validation(policy)
    protection = build(name, validation.models, policy)
    useful = measure_useful(protection, validation.models.windows, validation.held_out, policy)
    kind = "app_cost" if policy.training.cost_matrix else "app"
    return float(np.mean([numbers[kind] for numbers in useful.values()]))
