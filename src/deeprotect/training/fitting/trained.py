"""A newly trained protector: the layers and mechanism of the future bundle, and a first measurement."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.pipeline import Pipeline, make_pipeline

from deeprotect.bundle.consistency import Decoder
from deeprotect.bundle.network import EpisodeEncoder, Network
from deeprotect.policy import Policy
from deeprotect.privacy.entropy import Entropy, SystemEntropy
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.release.engine import Released, Request, one, simulate
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.signals import Hold
from deeprotect.signals.schema import Floats
from deeprotect.signals.windowing import Counts, run_lengths
from deeprotect.training.codebook.codebook import Costs, coded_classes, price
from deeprotect.training.fitting.kept_aside import coder_levels
from deeprotect.training.labelled_windows import Indices, LabelledWindows, numbered, segment_numbers
from deeprotect.training.levels import distances, error_limit, median_error, medians
from deeprotect.training.window_features import WindowFeatures


@dataclass(frozen=True)
class TrainedProtector:
    """Encoder, mechanism and decoder on flat scaled windows (window, value); `made_of` describes the learnt parts.

    `coded`, for a code book: each training window's code, or its episode's, by a coder that did not learn from it.
    """

    mechanism: Mechanism
    encoder: Network
    decoder: Decoder
    made_of: dict[str, Any]
    hold: Hold = field(default_factory=Hold)
    coded: Indices | None = None

    @property
    def schema(self) -> "_Scaled":
        """A schema for windows that are already scaled."""
        return _Scaled(np.full(self.decoder.outputs, 0.5))

    def encode(self, private: Floats) -> Floats:
        """Code (window, coordinate) of each window, or evidence for it if draws are held."""
        return self._episodes.encode(private)

    def pool(self, evidence: Floats, counts: Counts) -> Floats:
        """Codes of episodes with `counts` windows each."""
        return self._episodes.pool(evidence, counts)

    @cached_property
    def _episodes(self) -> EpisodeEncoder:
        return EpisodeEncoder.of(self.encoder, self.hold, self.mechanism.scripts)

    def decode(self, noisy_code: Floats) -> Floats:
        return self.decoder(noisy_code)

    def release(self, private: Floats, counts: Counts | None = None, *, entropy: Entropy) -> Released:
        """Release through the engine, for measuring; `counts` gives the windows of each episode, by default one."""
        shown = np.ones(len(private), dtype=np.int64) if counts is None else counts
        heard, looked = self.hold.heard(shown)
        ledger: Any = MemoryLedger(Price.of(self.mechanism))
        bundle: Any = self
        return one(simulate([Request(bundle, ledger, (), private[heard], looked, shown)], entropy=entropy))


@dataclass(frozen=True, eq=False)
class _Scaled:
    middle: Floats

    def scale(self, windows: Floats) -> Floats:
        return windows


SMALLEST = 0.01
"""Added to each probability before summing logarithms."""
Apps = Mapping[str, Pipeline]
"""For each useful inference, a forest on features of raw windows."""


def measure(
    protection: TrainedProtector,
    train: LabelledWindows,
    test: LabelledWindows,
    policy: Policy,
    *,
    unseen: LabelledWindows | None = None,
) -> dict[str, Any]:
    """Measure forests on features of raw windows, on raw and released ones, and a retrained attacker.

    If the policy sets costs, also measure the mean cost of misclassified released windows. `unseen` holds windows of
    people unknown to both protector and forests.
    """
    released = released_of(protection, test, policy)
    event, sensitive = protection.mechanism.event, policy.inferences.sensitive
    seen = released_of(protection, train, policy) if sensitive else None
    attackers = {name: Attacker.fit(name, train, seen) for name in sensitive}
    apps, costs = fit_apps(train, policy), policy.training.cost_matrix
    coded = {} if protection.coded is None else coded_classes(train, policy)
    return {
        "mechanism": protection.mechanism.name,
        "guarantee": event.policy_guarantee,
        "epsilon": event.epsilon,
        "windows": len(test),
        "useful": {
            name: _app(app, name, test, released, costs=costs) | _errors(app, name, test, released, protection, policy)
            for name, app in apps.items()
        },
        "classes": {
            name: list(_classes(app, name, train, test, released=released, coded=coded.get(name)))
            for name, app in apps.items()
            if name not in policy.inferences.numeric
        },
        "sensitive": {name: each.read(test, released) for name, each in attackers.items()},
    } | ({} if unseen is None else {"unseen": _of_unseen(protection, unseen, policy, apps=apps, attackers=attackers)})


def _of_unseen(
    protection: TrainedProtector,
    unseen: LabelledWindows,
    policy: Policy,
    *,
    apps: Apps,
    attackers: Mapping[str, "Attacker"],
) -> dict[str, Any]:
    """Measure the same apps and attackers on people unknown to the protector."""
    released = released_of(protection, unseen, policy)
    useful = {name: _app(app, name, unseen, released, costs={}) for name, app in apps.items()}
    return {
        "people": len(np.unique(unseen.people)),
        "useful": useful,
        "sensitive": {name: each.read(unseen, released) for name, each in attackers.items()},
    }


def fit_apps(train: LabelledWindows, policy: Policy) -> Apps:
    """Train an app for each useful inference on raw windows."""
    known = {name: train.labelled(name) for name in policy.inferences.useful}
    return {
        name: _forest(train).fit(train.flat[rows], train.labels[name][rows].astype(str)) for name, rows in known.items()
    }


def released_of(protection: TrainedProtector, windows: LabelledWindows, policy: Policy) -> Floats:
    counts = run_lengths(windows.episodes(policy.hold))
    return protection.release(windows.flat, counts, entropy=SystemEntropy()).windows


def _app(app: Pipeline, name: str, test: LabelledWindows, released: Floats, *, costs: Costs) -> dict[str, float]:
    seen = test.labelled(name)
    truth = test.labels[name][seen].astype(str)
    if not len(truth):
        return {}
    read, clean = (read_app(app, windows[seen], test, name) for windows in (released, test.flat))
    numbers = _accuracies(truth, clean=clean, app=read)
    numbers |= {"clean_balanced": balanced(truth, clean), "app_balanced": balanced(truth, read)}
    if not costs:
        return numbers
    prices = [price(*pair, costs.get(name, {})) for pair in zip(truth, read, strict=True)]
    return numbers | {"app_cost": float(np.mean(prices))}


def read_app(app: Pipeline, windows: Floats, of: LabelledWindows, name: str) -> Any:
    """The class that an app predicts for each window: the median for numbers, otherwise the likeliest."""
    values = of.values(name, app.classes_)
    return app.predict(windows) if values is None else app.classes_[medians(app.predict_proba(windows), values)]


def _errors(
    app: Pipeline,
    name: str,
    test: LabelledWindows,
    released: Floats,
    protection: TrainedProtector,
    policy: Policy,
) -> dict[str, float]:
    """Mean error of a numeric inference's predictions, as a share of its range; empty for other inferences."""
    number, seen = policy.inferences.numeric.get(name), test.labelled(name)
    if number is None or not seen.any():
        return {}
    truth = test.labels[name][seen]
    errors = {
        key: float(distances(truth, read_app(app, windows[seen], test, name)).mean())
        for key, windows in (("error_clean", test.flat), ("error", released))
    }
    errors["error_median"] = median_error(truth)
    coder = coder_levels(protection, test, policy.inferences.useful, name)
    if coder is not None:
        errors["error_coder"] = float(distances(truth, coder[seen]).mean())
    if protection.mechanism.event.guarantee == "ldp":
        errors["error_limit"] = error_limit(protection.mechanism.event.epsilon, truth)
    width = number.range[1] - number.range[0]
    return {key: error / width for key, error in errors.items()}


def _classes(
    app: Pipeline,
    name: str,
    train: LabelledWindows,
    test: LabelledWindows,
    *,
    released: Floats,
    coded: Collection[str] | None,
) -> Iterator[dict[str, Any]]:
    """For each class its number of windows and the app's recall; under the class's number if it may be a person.

    `coded` holds classes with a code, None without a code book.
    """
    classes, seen = sorted({*train.classes(name), *test.classes(name)}), test.labelled(name)
    names = numbered(classes) if train.may_be_people(name) else classes
    truth = test.labels[name][seen].astype(str)
    read = [app.predict(windows[seen]) if len(truth) else truth for windows in (test.flat, released)]
    for shown, each in zip(names, classes, strict=True):
        here = truth == each
        clean, after = (float(np.mean(guess[here] == each)) if here.any() else None for guess in read)
        learnt = int((train.labels[name] == each).sum())
        yield {"name": shown, "learnt": learnt, "tested": int(here.sum()), "clean": clean, "app": after} | (
            {} if coded is None else {"code": "own" if each in coded else "none"}
        )


def balanced(truth: Any, guess: Any) -> float:
    """Mean recall over the tested classes: each class counts the same, whatever its frequency."""
    return float(np.mean([np.mean(guess[truth == each] == each) for each in np.unique(truth)]))


@dataclass(frozen=True, eq=False)
class Attacker:
    """An adaptive attacker, trained on released windows with their labels; `raw` is trained on raw ones."""

    name: str
    raw: Any
    adaptive: Any

    @classmethod
    def fit(cls, name: str, train: LabelledWindows, seen: Any) -> "Attacker":
        known = train.labelled(name)
        learnt = train.labels[name][known].astype(str)
        return cls(name, *(_forest(train).fit(windows[known], learnt) for windows in (train.flat, seen)))

    def read(self, test: LabelledWindows, released: Any) -> dict[str, float]:
        """Accuracy for single windows, and for all windows of each recording and label together."""
        tested = test.labelled(self.name)
        truth = test.labels[self.name][tested].astype(str)
        if not len(truth):
            return {}
        segment = segment_numbers(test.recording[tested], truth)
        scores = {
            "raw": self.raw.predict_proba(test.flat[tested]),
            "adaptive": self.adaptive.predict_proba(released[tested]),
        }
        classes, first = self.adaptive.classes_, np.unique(segment, return_index=True)[1]
        single = {key: classes[each.argmax(axis=1)] for key, each in scores.items()}
        whole = {key: classes[_together(each, segment).argmax(axis=1)] for key, each in scores.items()}
        return _accuracies(truth, **single) | {
            "recording": float(np.mean(whole["adaptive"] == truth[first])),
            "recording_raw": float(np.mean(whole["raw"] == truth[first])),
        }


def _together(probabilities: Any, segment: Indices) -> Any:
    """Sums of logarithms over each segment; a forest's zero means "seen in no leaf" and is not a veto."""
    sums = np.zeros((int(segment[-1]) + 1, probabilities.shape[1]))
    np.add.at(sums, segment, np.log(probabilities + SMALLEST))
    return sums


def _accuracies(truth: Any, **guesses: Any) -> dict[str, float]:
    """Accuracy of each guess, and of the most common label."""
    chance = np.unique(truth, return_counts=True)[1].max() / len(truth)
    return {name: float(np.mean(guess == truth)) for name, guess in guesses.items()} | {"chance": float(chance)}


def _forest(windows: LabelledWindows) -> Pipeline:
    forest = ExtraTreesClassifier(100, n_jobs=-1, random_state=0)
    return make_pipeline(WindowFeatures(windows.samples.shape[2]), forest)
