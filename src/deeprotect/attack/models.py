"""Inference models by name: what an app runs, and what an attacker runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from deeprotect.attack.cnn import ConvolutionalClassifier
from deeprotect.errors import InputError
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import Labels

TREES = 60
LANDMARKS = 300
"""Training windows that the kernel compares each window with."""
KERNEL_PENALTY = 0.1
"""Ridge's penalty in the kernel's space, where no vector is longer than one."""
LEAST_VARIANCE = 1e-3
"""Added to each value's variance in a class, as a share of the largest: released windows of a class repeat."""
BOOSTED_TREES, MOST_ROUNDS, FEWEST_ROUNDS = 600, 60, 5
"""Boosting grows a tree per class and round: many classes get fewer rounds, so that none takes minutes."""
BOOSTED_VALUES = 120
"""Values of a window that boosting looks at; its time grows with them."""
PRIOR_SHARE = 0.01
"""Share of the prior in a posterior: a forest's zero means "seen in no leaf", it must not veto a pooled guess."""


@dataclass(frozen=True)
class ModelSpec:
    """What a model may know before it sees its training windows."""

    rows: int
    values: int
    channels: int
    classes: int
    seed: int


class CodeTable:
    """What someone who knows the code book does with a released code: P(label | code), counted in training.

    Windows are one column of small integers. Each label's counts get one more per code on average, spread as the codes
    are overall, so that a rare label tells little rather than too much. A code never seen tells nothing: the prior.
    """

    def fit(self, windows: Floats, labels: NDArray[np.str_]) -> Self:
        self.codes, code = np.unique(_column(windows), return_inverse=True)
        self.classes_, label = np.unique(labels, return_inverse=True)
        counts = np.zeros((len(self.codes), len(self.classes_)))
        np.add.at(counts, (code, label), 1)
        prior = counts.sum(axis=0) / counts.sum()
        usual = counts.sum(axis=1, keepdims=True) / counts.sum()
        likelihood = (counts + len(self.codes) * usual) / (counts.sum(axis=0) + len(self.codes))
        posterior = likelihood * prior
        self.rows = np.vstack([posterior / posterior.sum(axis=1, keepdims=True), prior])
        return self

    def predict_proba(self, windows: Floats) -> Floats:
        codes = _column(windows)
        places = np.searchsorted(self.codes, codes).clip(max=len(self.codes) - 1)
        return np.asarray(self.rows[np.where(self.codes[places] == codes, places, len(self.codes))])


def _column(windows: Floats) -> Floats:
    if windows.shape[1] != 1:
        raise InputError(f"code_table reads one column of codes, not {windows.shape[1]} values; use another model")
    return windows[:, 0]


def _ridge(_: ModelSpec) -> Any:
    return make_pipeline(StandardScaler(), RidgeClassifier())


def _kernel_ridge(spec: ModelSpec) -> Any:
    """Nyström's approximation: exact kernel ridge takes rows³ time and rows² memory, minutes for 10,000 windows."""
    landmarks = Nystroem(n_components=min(LANDMARKS, spec.rows), random_state=spec.seed)
    return make_pipeline(StandardScaler(), landmarks, RidgeClassifier(alpha=KERNEL_PENALTY))


def _svm(spec: ModelSpec) -> Any:
    """A support-vector machine of Gaussian kernel on the same landmarks: an exact one takes rows² time for each pair
    of classes."""
    landmarks = Nystroem(n_components=min(LANDMARKS, spec.rows), random_state=spec.seed)
    return make_pipeline(StandardScaler(), landmarks, LinearSVC(dual=False, random_state=spec.seed))


def _naive_bayes(_: ModelSpec) -> Any:
    return make_pipeline(StandardScaler(), GaussianNB(var_smoothing=LEAST_VARIANCE))


def _random_forest(spec: ModelSpec) -> Any:
    return RandomForestClassifier(TREES, random_state=spec.seed)


def _extra_trees(spec: ModelSpec) -> Any:
    return ExtraTreesClassifier(TREES, random_state=spec.seed)


def _gradient_boosting(spec: ModelSpec) -> Any:
    some = np.sort(np.random.default_rng(spec.seed).permutation(spec.values)[:BOOSTED_VALUES])
    boosting = HistGradientBoostingClassifier(
        max_iter=int(np.clip(BOOSTED_TREES // spec.classes, FEWEST_ROUNDS, MOST_ROUNDS)),
        learning_rate=0.15,
        max_features=0.2,
        max_bins=63,
        early_stopping=False,  # it would cut a held-out part that a class with one window cannot be in
        random_state=spec.seed,
    )
    return make_pipeline(make_column_transformer(("passthrough", some)), boosting)


def _cnn(spec: ModelSpec) -> Any:
    return ConvolutionalClassifier(spec.channels, seed=spec.seed)


def _code_table(_: ModelSpec) -> Any:
    return CodeTable()


MODELS: dict[str, Callable[[ModelSpec], Any]] = {
    "ridge": _ridge,
    "kernel_ridge": _kernel_ridge,
    "svm": _svm,
    "naive_bayes": _naive_bayes,
    "random_forest": _random_forest,
    "extra_trees": _extra_trees,
    "gradient_boosting": _gradient_boosting,
    "cnn": _cnn,
    "code_table": _code_table,
}


@dataclass(frozen=True)
class TrainedModel:
    """A fitted model; windows are flat (window, value)."""

    name: str
    classes: NDArray[np.str_]
    estimator: Any
    log_prior: Floats
    """Logarithm of each class's share of the training windows."""

    @property
    def probabilistic(self) -> bool:
        """Scores are logarithms of posteriors: each holds the prior once."""
        return hasattr(self.estimator, "predict_proba")

    def scores(self, windows: Floats) -> Floats:
        """One column per class, larger is likelier."""
        with threadpool_limits(1):
            if self.probabilistic:
                return self._log_posteriors(self.estimator.predict_proba(windows))
            scores = np.asarray(self.estimator.decision_function(windows), dtype=np.float64)
        return np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores

    def _log_posteriors(self, probabilities: Floats) -> Floats:
        share = 0.0 if isinstance(self.estimator, CodeTable) else PRIOR_SHARE  # a code table smooths by itself
        return np.asarray(np.log((1 - share) * probabilities + share * np.exp(self.log_prior)))

    def choose(self, scores: Floats) -> NDArray[np.str_]:
        """The class of the highest score in each row."""
        return np.asarray(self.classes[scores.argmax(axis=1)])

    def predict(self, windows: Floats) -> NDArray[np.str_]:
        return self.choose(self.scores(windows))


def require_model(name: str) -> None:
    if name not in MODELS:
        raise InputError(f"inference model '{name}' is unknown; use one of: {', '.join(MODELS)}")


def train(name: str, windows: Floats, labels: Labels, *, seed: int, channels: int = 1) -> TrainedModel:
    """Fit a model by name, on one core (experiments run side by side); labels are complete.

    Windows are flat (window, time * channels + channel).
    """
    require_model(name)
    if not len(labels):
        raise InputError("no training window has a label of this inference; label some rows or use a longer table")
    texts = labels.astype(str)
    classes, counts = np.unique(texts, return_counts=True)
    rows, values = windows.shape
    spec = ModelSpec(rows, values, channels=channels, classes=len(classes), seed=seed)
    # A single class cannot be told apart from anything, nor can windows that are all alike; most models refuse them.
    several = len(classes) > 1 and bool(np.ptp(windows, axis=0).any())
    estimator = MODELS[name](spec) if several else DummyClassifier()
    with threadpool_limits(1):
        estimator.fit(windows, texts)
    return TrainedModel(name, classes, estimator, np.log(counts / counts.sum()))
