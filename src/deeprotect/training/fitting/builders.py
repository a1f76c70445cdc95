"""Building protectors: encoder, noise and decoder of each mechanism, and the choice of mechanism for a policy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from torch import nn

from deeprotect.bundle.network import Network, OutputTable
from deeprotect.policy import Policy
from deeprotect.privacy.accuracy_bound import best_laplace_accuracy
from deeprotect.privacy.box import Box
from deeprotect.privacy.channel.design import design, make
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.channel.scripts import ScriptResponse, Scripts
from deeprotect.privacy.mechanisms import laplace
from deeprotect.privacy.mechanisms.laplace import GridLaplace
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.signals.schema import Floats
from deeprotect.training.codebook.codebook import CodeBook, price
from deeprotect.training.erasing import sensitive_directions
from deeprotect.training.export import to_network
from deeprotect.training.feature_extractors.feature_extractor import FeatureExtractor
from deeprotect.training.fitting.fitted_models import FittedModels, Validation
from deeprotect.training.fitting.trained import TrainedProtector, read_app, released_of
from deeprotect.training.labelled_windows import LabelledWindows
from deeprotect.training.networks import ClipToRange, outward
from deeprotect.training.splits import segments_of

TRIM = 0.01  # share of training features beyond each end of the clip box: less noise, a little clipping
NOISE_SEEN = 8.0  # noise exceeds this many scales once in three thousand draws
Build = Callable[[FittedModels, Policy], TrainedProtector]


def baseline(models: FittedModels, policy: Policy) -> TrainedProtector:
    """Noise on every sample, without training."""
    dim = models.windows.flat.shape[1]
    noise = laplace.baseline(dim, policy.privacy.epsilon)
    return TrainedProtector(noise, Network((), dim), to_network(ClipToRange(), models.windows.flat), {"name": "none"})


def certified(models: FittedModels, policy: Policy) -> TrainedProtector:
    """Noise on the features, scaled to their certified sensitivity."""
    windows, feature_extractor = models.windows, models.feature_extractor(policy)
    return _on_features(
        laplace.certified(_box(windows, feature_extractor), policy.privacy.epsilon), feature_extractor, windows
    )


def paper(models: FittedModels, policy: Policy) -> TrainedProtector:
    """The paper's λ on the features of the paper's autoencoder: mode 2 for rldp, otherwise mode 1."""
    windows, feature_extractor = models.windows, models.feature_extractor(policy)
    epsilon, box = policy.privacy.epsilon, _box(windows, feature_extractor)
    if policy.privacy.guarantee != "rldp":
        return _on_features(laplace.paper_mode1(box, epsilon, dim_x=windows.flat.shape[1]), feature_extractor, windows)
    hidden = policy.inferences.sensitive
    directions = sensitive_directions(windows.flat, [windows.labels[name] for name in hidden])
    noise = laplace.paper_mode2(box, epsilon, directions=directions, inferences=hidden)
    return _on_features(noise, feature_extractor, windows)


def through_channel(models: FittedModels, policy: Policy) -> TrainedProtector:
    """One of K codes through the channel of least cost, then a synthetic window of the resulting code."""
    if policy.slot_windows is not None:
        return through_scripts(models, policy, policy.slot_windows)
    return _channel(models.codes(policy).book(policy.hold), policy)


def _channel(book: CodeBook, policy: Policy) -> TrainedProtector:
    costs, misread = policy.costs, book.cost({})
    plan = design(
        book.cost(costs),
        book.prior,
        ldp_epsilon=policy.privacy.epsilon,
        # Of channels with equal cost, prefer higher accuracy, then less distortion of windows.
        distortion=misread if costs else book.distortion,
    )
    outputs = book.outputs.samples
    channel = make(plan, variants=outputs.shape[1], codes=book.codes, outputs=book.codes)
    expected = 1 - replace(plan, cost=misread).expected_cost
    return _of_book(book, channel, expected, plan.expected_cost if costs else None)


def through_scripts(models: FittedModels, policy: Policy, slot: int) -> TrainedProtector:
    """One script for an episode by randomised response, then synthetic windows that follow it."""
    learnt, privacy = models.codes(policy), policy.privacy
    slots = policy.hold.windows // slot
    scripts = Scripts.fitting(learnt.joint.count, slots, changes=privacy.changes, windows=slot, epsilon=privacy.epsilon)
    book, costs = learnt.book(policy.hold, scripts), policy.costs
    facts = {"prior": tuple(book.prior.tolist()), "variants": book.outputs.samples.shape[1], "outputs": book.codes}
    made = ScriptResponse.of(scripts, privacy.epsilon, cost=book.cost(costs), **facts)
    expected = 1 - replace(made, cost=book.cost({})).expected_error()
    return _of_book(book, made, expected, made.expected_error() if costs else None)


def _of_book(book: CodeBook, mechanism: Mechanism, accuracy: float, cost: float | None) -> TrainedProtector:
    outputs = book.outputs.samples
    made_of = {"name": "code book", "codes": list(book.codes), "variants": outputs.shape[1]}
    made_of |= {"expected_accuracy": accuracy} | ({} if cost is None else {"expected_cost": cost})
    table = OutputTable.of(outputs.reshape(-1, outputs.shape[2]))
    return TrainedProtector(mechanism, book.encoder, table, made_of, coded=book.coded)


def _on_features(noise: GridLaplace, feature_extractor: FeatureExtractor, windows: LabelledWindows) -> TrainedProtector:
    encoder = to_network(feature_extractor.encoder(), windows.flat)
    features, reach = encoder(windows.flat), NOISE_SEEN * noise.noise_scales
    # The decoder's input is mostly noise: values beyond these are clipped when it rounds.
    seen = np.vstack([features, features.max(axis=0) + reach, features.min(axis=0) - reach])
    decoder = to_network(nn.Sequential(feature_extractor.decoder(), ClipToRange()), seen)
    return TrainedProtector(noise, encoder, decoder, _description(feature_extractor))


def _description(feature_extractor: FeatureExtractor) -> dict[str, Any]:
    return {"name": type(feature_extractor).__name__, "parameters": feature_extractor.get_params()}


BUILDERS: dict[str, Build] = {
    "baseline": baseline,
    "laplace": certified,
    "paper": paper,
    "channel": through_channel,
}


def build(name: str, models: FittedModels, policy: Policy) -> TrainedProtector:
    """Build a mechanism for a policy, by name; its promise is per episode if the policy holds draws."""
    made, hold = BUILDERS[name](models, policy.vary(privacy={"mechanism": name})), policy.hold
    mechanism: Any = made.mechanism
    event = replace(mechanism.event, per=hold.per, erased=policy.erased)
    return replace(made, mechanism=replace(mechanism, event=event), hold=hold)


def _box(windows: LabelledWindows, feature_extractor: FeatureExtractor) -> Box:
    """A clip box around the training features, with ends that match no participant's value."""
    box = Box.fit(feature_extractor.transform(windows.flat), trim=TRIM)
    low, high = outward(np.array(box.low), np.array(box.high))
    return Box(tuple(low.tolist()), tuple(high.tolist()))


RIVALS = ("laplace",)
"""Mechanisms that may do better than the channel."""
Predicted = Mapping[str, tuple[NDArray[np.str_], Floats]]
"""For each useful inference its classes, and (window, class): how often an app predicts each class."""
DRAWS = 4
"""Number of releases of the same windows, whose mean estimates the next one."""
ERRORS = 2
"""Number of standard errors that an expectation may be off."""


def select(models: FittedModels, policy: Policy) -> TrainedProtector:
    """Choose the best protector; it records each candidate's accuracy, or the cost of its misclassifications.

    All are measured by the same apps on the same windows, which neither apps nor encoders learnt from. A rival that
    cannot possibly match the channel is not tried.
    """
    channel, costs = build("channel", models, policy), policy.costs
    validation = models.validation(policy)
    found = {"channel": Loss.of(_through_channel(channel, validation), validation.held_out, policy)}
    for name in RIVALS:
        if costs or _most(name, models.windows, policy) >= 1 - found["channel"].highest:
            found[name] = Loss.of(_through(name, validation, policy), validation.held_out, policy)
    best = min(found, key=lambda name: found[name].mean)
    protection = channel if best == "channel" else build(best, models, policy)
    reason = "chosen_for_expected_cost" if costs else "chosen_for_expected_accuracy"
    expected = {name: each.mean if costs else 1 - each.mean for name, each in found.items()}
    return replace(protection, made_of={**protection.made_of, reason: expected})


@dataclass(frozen=True)
class Loss:
    """Mean cost of misclassifications over windows, then over useful inferences; `highest` is an upper bound."""

    mean: float
    highest: float

    @classmethod
    def of(cls, readings: Predicted, held_out: LabelledWindows, policy: Policy) -> "Loss":
        """Estimate from how often each window is classified as each class; neighbours have dependent errors."""
        means, errors = [], []
        for name, (classes, shares) in readings.items():
            known, costs = held_out.labelled(name), policy.costs.get(name, {})
            prices = [
                [price(true, read, costs) for read in classes] for true in held_out.labels[name][known].astype(str)
            ]
            lost = (shares[known] * np.array(prices)).sum(axis=1)
            means.append(lost.mean())
            segments = segments_of(held_out[known])
            errors.append(np.linalg.norm(np.bincount(segments, lost - lost.mean())) / len(lost))
        return cls(float(np.mean(means)), float(np.mean(means) + ERRORS * np.mean(errors)))


def _through_channel(channel: TrainedProtector, validation: Validation) -> Predicted:
    """Exact expectation over its draws, from codes by a coder that did not learn from the windows."""
    assert isinstance(channel.mechanism, DiscreteChannel)
    assert channel.coded is not None
    drawn = channel.mechanism.probabilities[channel.coded[validation.rows]]
    outputs = channel.decode(np.arange(drawn.shape[1] * channel.mechanism.variants, dtype=float)[:, None])
    return {
        name: (
            app.classes_,
            drawn
            @ _read(app, outputs, validation.held_out, name)
            .reshape(drawn.shape[1], -1, len(app.classes_))
            .mean(axis=1),
        )
        for name, app in validation.apps.items()
    }


def _through(name: str, validation: Validation, policy: Policy) -> Predicted:
    """Means over several releases."""
    protection = build(name, validation.models, policy)
    draws = [released_of(protection, validation.held_out, policy) for _ in range(DRAWS)]
    return {
        useful: (
            app.classes_,
            np.mean([_read(app, released, validation.held_out, useful) for released in draws], axis=0),
        )
        for useful, app in validation.apps.items()
    }


def _read(app: Pipeline, windows: Floats, of: LabelledWindows, name: str) -> Floats:
    """(window, class): 1 for the class that the app predicts."""
    return np.asarray(read_app(app, windows, of, name)[:, None] == app.classes_, dtype=np.float64)


def _most(name: str, windows: LabelledWindows, policy: Policy) -> float:
    """Upper bound on the accuracy of protection with this mechanism, mean over the useful inferences."""
    if name != "laplace":
        return 1.0
    labels = [windows.labels[useful][windows.labelled(useful)].astype(str) for useful in policy.inferences.useful]
    priors = [np.unique(each, return_counts=True)[1] for each in labels]
    return float(np.mean([best_laplace_accuracy(policy.privacy.epsilon, each) for each in priors]))
