"""Inference models by name: what an app runs, and what an attacker runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deeprotect.errors import InputError
from deeprotect.signals.schema import Floats

Labels = NDArray[np.object_]

TREES = 60
# A forest's zero means "seen in no leaf", not "impossible": it must not veto a pooled guess.
SMALLEST_PROBABILITY = 1e-3


def _ridge(_: int) -> Any:
    return make_pipeline(StandardScaler(), RidgeClassifier())


def _random_forest(seed: int) -> Any:
    return RandomForestClassifier(TREES, n_jobs=2, random_state=seed)


def _extra_trees(seed: int) -> Any:
    return ExtraTreesClassifier(TREES, n_jobs=2, random_state=seed)


MODELS: dict[str, Callable[[int], Any]] = {
    "ridge": _ridge,
    "random_forest": _random_forest,
    "extra_trees": _extra_trees,
}


@dataclass(frozen=True)
class Trained:
    """A fitted model; windows are flat (window, value)."""

    name: str
    classes: NDArray[np.str_]
    estimator: Any

    def scores(self, windows: Floats) -> Floats:
        """One column per class, larger is likelier; summed over windows they are a pooled guess."""
        if hasattr(self.estimator, "predict_proba"):
            probabilities = self.estimator.predict_proba(windows)
            return np.asarray(np.log(np.maximum(probabilities, SMALLEST_PROBABILITY)))
        scores = np.asarray(self.estimator.decision_function(windows), dtype=np.float64)
        return np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores

    def choose(self, scores: Floats) -> NDArray[np.str_]:
        """The class of the highest score in each row."""
        return np.asarray(self.classes[scores.argmax(axis=1)])

    def predict(self, windows: Floats) -> NDArray[np.str_]:
        return self.choose(self.scores(windows))


def train(name: str, windows: Floats, labels: Labels, *, seed: int) -> Trained:
    """Fit a model by name; labels are complete."""
    if name not in MODELS:
        raise InputError(f"inference model '{name}' is unknown; use one of: {', '.join(MODELS)}")
    if not len(labels):
        raise InputError("no training window has a label of this inference; label some rows or use a longer table")
    texts = labels.astype(str)
    # A single class cannot be told apart from anything; most models refuse it.
    estimator = MODELS[name](seed) if len(np.unique(texts)) > 1 else DummyClassifier()
    estimator.fit(windows, texts)
    return Trained(name, np.asarray(estimator.classes_), estimator)
