"""Surrogate apps: several kinds of unmodified model that say how a synthetic window would be read."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deeprotect.signals.schema import Floats
from deeprotect.training.windows import Indices

FIRST_SEED = 10_000
"""Surrogates count their seeds from here; evaluation counts from zero, so that no app judges what it chose."""
MOST_WINDOWS = 3000
"""Windows that one surrogate learns from; more of them cost time and hardly change what it reads."""
BOOSTED_VALUES = 64
"""Values of a window that boosting looks at: its time is classes × rounds × values."""


@dataclass(frozen=True)
class Readers:
    """Models that learnt the same labels, each of another kind."""

    models: tuple[Any, ...]
    classes: int

    def probabilities(self, windows: Floats) -> Floats:
        """(reader, window, class); all certain of class 0 where there is only that one."""
        if not self.models:
            return np.eye(1, self.classes)[None].repeat(len(windows), axis=1)
        return np.stack([_probabilities(model, windows, self.classes) for model in self.models])

    def rates(self, windows: Floats) -> Floats:
        """How often windows (code, variant, value) are read as each class, (code, class)."""
        flat = windows.reshape(-1, windows.shape[-1])
        read = self.probabilities(flat).argmax(axis=2).reshape(-1, *windows.shape[:2])
        return np.asarray((read[..., None] == np.arange(self.classes)).mean(axis=(0, 2)))


def several_kinds(windows: Floats, targets: Indices, *, classes: int, seed: int) -> Readers:
    """Ridge, forest, boosting and a small network, trained on flat windows."""
    seed += FIRST_SEED
    windows, targets = _some(windows, targets, seed)
    models = [
        make_pipeline(StandardScaler(), RidgeClassifier()),
        RandomForestClassifier(60, random_state=seed),
        _Boosting(np.random.default_rng(seed).permutation(windows.shape[1])[:BOOSTED_VALUES], seed),
        make_pipeline(StandardScaler(), _network(len(windows), seed)),
    ]
    return _fitted(models, windows, targets, classes=classes)


def forest(windows: Floats, targets: Indices, *, classes: int, seed: int) -> Readers:
    """One forest: the app whose reading is reported."""
    seed += FIRST_SEED
    windows, targets = _some(windows, targets, seed)
    return _fitted([RandomForestClassifier(100, random_state=seed)], windows, targets, classes=classes)


class _Boosting:
    """Gradient boosting on some of a window's values."""

    def __init__(self, values: Indices, seed: int) -> None:
        self.values = np.sort(values)
        self.model = HistGradientBoostingClassifier(
            max_iter=30, learning_rate=0.2, max_leaf_nodes=15, max_bins=63, early_stopping=False, random_state=seed
        )

    @property
    def classes_(self) -> Indices:
        return np.asarray(self.model.classes_)

    def fit(self, windows: Floats, targets: Indices) -> "_Boosting":
        self.model.fit(windows[:, self.values], targets)
        return self

    def predict_proba(self, windows: Floats) -> Floats:
        return np.asarray(self.model.predict_proba(windows[:, self.values]))


def _network(rows: int, seed: int) -> MLPClassifier:
    # Stopped by count, so that no window is held out of a small table; adam ends there without having converged.
    epochs = int(np.clip(60_000 // rows, 20, 60))
    return MLPClassifier((64,), batch_size=min(64, rows), max_iter=epochs, n_iter_no_change=epochs, random_state=seed)


def _fitted(models: Sequence[Any], windows: Floats, targets: Indices, *, classes: int) -> Readers:
    if len(np.unique(targets)) < 2:
        return Readers((), classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return Readers(tuple(model.fit(windows, targets) for model in models), classes)


def _some(windows: Floats, targets: Indices, seed: int) -> tuple[Floats, Indices]:
    if len(windows) <= MOST_WINDOWS:
        return windows, targets
    chosen = np.random.default_rng(seed).choice(len(windows), MOST_WINDOWS, replace=False)
    return windows[chosen], targets[chosen]


def _probabilities(model: Any, windows: Floats, classes: int) -> Floats:
    if hasattr(model, "predict_proba"):
        known = model.predict_proba(windows)
    else:
        scores = np.asarray(model.decision_function(windows), dtype=np.float64)
        known = softmax(np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores, axis=1)
    full = np.zeros((len(windows), classes))
    full[:, model.classes_] = known
    return full
