"""Surrogate apps: several kinds of unmodified model that say how a synthetic window would be read."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import Indices, Labels

FIRST_SEED = 10_000
"""Surrogates count their seeds from here; evaluation counts from zero, so that no app judges what it chose."""
MOST_WINDOWS = 6000
"""Windows that a surrogate learns from; more of them cost time and hardly change what it chooses."""
MOST_REPORTED = 20_000
BOOSTED_VALUES = 64
"""Values of a window that boosting looks at; its time is classes × rounds × values."""
BOOSTED_TREES = 300


@dataclass(frozen=True)
class SurrogateEnsemble:
    """Models that learnt the same labels, each of another kind; the first `forests` of them are forests."""

    models: tuple[Any, ...]
    classes: int
    forests: int

    def probabilities(self, windows: Floats) -> Floats:
        """(reader, window, class); certain of class 0 where there is only that one."""
        if not self.models:
            return np.eye(1, self.classes)[None].repeat(len(windows), axis=1)
        return np.stack([_probabilities(model, windows, self.classes) for model in self.models])

    def margins(self, windows: Floats, wanted: int) -> Floats:
        """By how much each reader prefers the wanted class to its best rival, (reader, window)."""
        probabilities = self.probabilities(windows)
        rivals = np.delete(probabilities, wanted, axis=2).max(axis=2, initial=0.0)
        return np.asarray(probabilities[:, :, wanted] - rivals)

    def rates(self, windows: Floats) -> Floats:
        """How often windows (code, variant, value) are read as each class, (code, class)."""
        flat = windows.reshape(-1, windows.shape[-1])
        read = self.probabilities(flat).argmax(axis=2).reshape(-1, *windows.shape[:2])
        return np.asarray((read[..., None] == np.arange(self.classes)).mean(axis=(0, 2)))


@dataclass(frozen=True)
class SurrogateTask:
    """One useful inference: each window's class, -1 where unknown, and the class that each code stands for."""

    name: str
    classes: tuple[str, ...]
    targets: Indices
    meaning: Indices

    @classmethod
    def of(cls, name: str, labels: Labels, codes: Indices) -> Self:
        known = np.array([label is not None for label in labels], dtype=bool)
        classes, numbers = np.unique(labels[known].astype(str), return_inverse=True)
        targets = np.full(len(labels), -1, dtype=np.int64)
        targets[known] = numbers
        both = known & (codes >= 0)
        counts = np.zeros((int(codes.max()) + 1, max(len(classes), 1)))
        np.add.at(counts, (codes[both], targets[both]), 1)
        # A code that several classes share is read as the most frequent of them.
        return cls(name, tuple(classes), targets, counts.argmax(axis=1))

    def several_kinds(self, windows: Floats, allowed: NDArray[np.bool_], *, seed: int) -> SurrogateEnsemble:
        """Forests, boosting, ridge and a small network that learn from the allowed flat windows."""
        seed += FIRST_SEED
        rows = self._rows(allowed, MOST_WINDOWS, seed)
        models = [
            RandomForestClassifier(60, random_state=seed),
            ExtraTreesClassifier(60, random_state=seed),
            _Boosting(windows.shape[1], len(self.classes), seed),
            make_pipeline(StandardScaler(), RidgeClassifier()),
            make_pipeline(StandardScaler(), _network(len(rows), seed)),
        ]
        return self._fitted(models, windows[rows], self.targets[rows], forests=2)

    def forest(self, windows: Floats, *, seed: int) -> SurrogateEnsemble:
        """One forest that learns from all flat windows: the app whose reading is reported."""
        seed += FIRST_SEED
        rows = self._rows(np.ones(len(windows), dtype=bool), MOST_REPORTED, seed)
        model = ExtraTreesClassifier(60, random_state=seed)
        return self._fitted([model], windows[rows], self.targets[rows], forests=1)

    def margin(self, windows: Floats, ensemble: SurrogateEnsemble) -> Floats:
        """By how much forests prefer each flat window's own class to the best other; -1 where it is unknown."""
        means = ensemble.probabilities(windows)[: max(ensemble.forests, 1)].mean(axis=0)
        rows = np.arange(len(windows))
        own = means[rows, self.targets]
        means[rows, self.targets] = 0.0
        return np.where(self.targets >= 0, own - means.max(axis=1), -1.0)

    def _rows(self, allowed: NDArray[np.bool_], most: int, seed: int) -> Indices:
        rows = np.flatnonzero(allowed & (self.targets >= 0))
        return rows if len(rows) <= most else np.random.default_rng(seed).permutation(rows)[:most]

    def _fitted(self, models: Sequence[Any], windows: Floats, targets: Indices, *, forests: int) -> SurrogateEnsemble:
        if len(np.unique(targets)) < 2:
            return SurrogateEnsemble((), max(len(self.classes), 1), 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the network is stopped by count, on purpose
            return SurrogateEnsemble(tuple(model.fit(windows, targets) for model in models), len(self.classes), forests)


class _Boosting:
    """Gradient boosting on some of a window's values."""

    def __init__(self, values: int, classes: int, seed: int) -> None:
        self.values = np.sort(np.random.default_rng(seed).permutation(values)[:BOOSTED_VALUES])
        rounds = int(np.clip(BOOSTED_TREES // max(classes, 1), 10, 30))
        self.model = HistGradientBoostingClassifier(
            max_iter=rounds, learning_rate=0.25, max_leaf_nodes=15, max_bins=63, early_stopping=False, random_state=seed
        )

    @property
    def classes_(self) -> Indices:
        return np.asarray(self.model.classes_)

    def fit(self, windows: Floats, targets: Indices) -> Self:
        self.model.fit(windows[:, self.values], targets)
        return self

    def predict_proba(self, windows: Floats) -> Floats:
        return np.asarray(self.model.predict_proba(windows[:, self.values]))


def _network(rows: int, seed: int) -> MLPClassifier:
    epochs = int(np.clip(60_000 // max(rows, 1), 20, 60))
    return MLPClassifier((64,), batch_size=min(64, rows), max_iter=epochs, n_iter_no_change=epochs, random_state=seed)


def _probabilities(model: Any, windows: Floats, classes: int) -> Floats:
    if hasattr(model, "predict_proba"):
        known = model.predict_proba(windows)
    else:
        scores = np.asarray(model.decision_function(windows), dtype=np.float64)
        known = softmax(np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores, axis=1)
    full = np.zeros((len(windows), classes))
    full[:, model.classes_] = known
    return full
