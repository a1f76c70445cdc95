"""Inference models by name, for apps and attackers.

Trees learn from features of a window, as published recognition apps do; the others from its samples.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from torch import Tensor, nn
from torch.nn import functional

from deeprotect.errors import InputError
from deeprotect.signals.schema import Floats
from deeprotect.training.codebook.coder import AmplitudeSpectrum, SummaryStatistics
from deeprotect.training.labelled_windows import Labels
from deeprotect.training.levels import medians
from deeprotect.training.networks import Standardise, initialise, unset, window_samples
from deeprotect.training.trainer import Schedule, TrainingJob, single_thread
from deeprotect.training.trainer import train as train_network
from deeprotect.training.window_features import WindowFeatures

FILTERS, HIDDEN = 32, 128
KERNELS = (5, 3)
LONGEST = 20
"""Number of samples above which a layer halves the window: long windows need no finer time."""
PARTS = 4
"""Number of parts of the window over which filter outputs are pooled."""
DROP = 0.5
"""Standard deviation of the noise that multiplies hidden values in training, in place of dropout."""
SMOOTHING = 0.05
SCHEDULE = Schedule(max_epochs=100, max_steps=800, batch_size=128, learning_rate=5e-3, patience=1_000_000)
AT_ONCE = 4096
"""Windows processed at a time, so that memory does not grow with the table."""


class ConvolutionalNetwork(nn.Module):
    """Maps flat windows to one score per class: two pooled convolutions, and summary statistics of the window."""

    def __init__(self, windows: Floats, channels: int, *, classes: int) -> None:
        super().__init__()
        samples = window_samples(windows.shape[1], channels)
        self.standardise, self.channels = Standardise(windows), channels
        self.statistics, self.spectrum = SummaryStatistics(), AmplitudeSpectrum(samples)
        self.convolutions = nn.ModuleList()
        length, width = samples, channels
        for kernel in KERNELS:
            stride = 2 if length > LONGEST else 1
            self.convolutions.append(unset(nn.Conv1d, width, FILTERS, kernel, stride=stride, padding=kernel // 2))
            length, width = (length - 1) // stride + 1, FILTERS
        self.parts = min(PARTS, length)
        self.found = 2 * FILTERS * self.parts + channels * (4 + samples // 2 + 1)
        self.first, self.last = unset(nn.Linear, self.found, HIDDEN), unset(nn.Linear, HIDDEN, classes)

    def forward(self, windows: Tensor, noise: Tensor | None = None) -> Tensor:
        series = torch.unflatten(
            self.standardise(windows), -1, (-1, self.channels)
        ).mT  # (row, channel, time), for convolutions
        answers = series
        for layer in self.convolutions:
            answers = functional.relu(layer(answers))
        means = functional.adaptive_avg_pool1d(answers, self.parts)
        peaks = functional.adaptive_max_pool1d(answers, self.parts)
        summary = [self.statistics(series.mT), self.spectrum(series.mT)]
        found = torch.cat([means.flatten(-2), peaks.flatten(-2), *summary], dim=-1)
        if noise is not None:
            found = found * (1 + DROP * noise)
        scores: Tensor = self.last(functional.relu(self.first(found)))
        return scores


class _Loss(nn.Module):
    """Cross-entropy with label smoothing."""

    def __init__(self, network: ConvolutionalNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, windows: Tensor, numbers: Tensor, noise: Tensor) -> Tensor:
        return functional.cross_entropy(self.network(windows, noise), numbers, label_smoothing=SMOOTHING)


class ConvolutionalClassifier:
    """Trains for a fixed number of steps, whatever the number of windows; the same seed gives the same network."""

    def __init__(self, channels: int, *, seed: int) -> None:
        self.channels = channels
        self.seed = seed

    def fit(self, windows: Floats, labels: NDArray[np.str_]) -> Self:
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        most = SCHEDULE.max_steps * SCHEDULE.batch_size  # beyond, even a single pass would take more steps
        if len(windows) > most:
            rows = np.random.default_rng(self.seed).permutation(len(windows))[:most]
            windows, numbers = windows[rows], numbers[rows]
        with single_thread():
            self.network = self._trained(windows, numbers)
        return self

    def predict_proba(self, windows: Floats) -> Floats:
        with single_thread(), torch.inference_mode():
            rows = torch.tensor(windows, dtype=torch.float32)
            scores = torch.cat([self.network(part) for part in torch.split(rows, AT_ONCE)])
            return np.asarray(scores.double().softmax(dim=-1).numpy())

    def _trained(self, windows: Floats, numbers: NDArray[np.int64]) -> ConvolutionalNetwork:
        generator = torch.Generator().manual_seed(self.seed)
        network = ConvolutionalNetwork(windows, self.channels, classes=len(self.classes_))
        initialise(network, generator)
        rows = torch.tensor(windows, dtype=torch.float32), torch.tensor(numbers)
        job = TrainingJob(_Loss(network), rows, noise=network.found, generator=generator)
        train_network(job, SCHEDULE)
        return network.eval()


TREES = 60
LANDMARKS = 300
"""Number of training windows that the kernel compares each window with."""
KERNEL_PENALTY = 0.1
"""Ridge penalty in the kernel's space, where vectors are at most one long."""
LEAST_VARIANCE = 1e-3
"""Added to each value's variance in a class, as a share of the largest, because a class's released windows repeat."""
BOOSTED_TREES, MOST_ROUNDS, FEWEST_ROUNDS = 600, 60, 5
"""Boosting grows a tree per class and round, so many classes get fewer rounds, to stay below minutes."""
PRIOR_SHARE = 0.01
"""Share of the prior in a posterior: a forest's zero means "seen in no leaf" and must not veto a pooled guess."""


@dataclass(frozen=True)
class ModelSpec:
    """What a model knows before training."""

    rows: int
    channels: int
    classes: int
    seed: int


class CodeTable:
    """What an attacker who knows the code book learns from a released code: P(label | code), counted in training.

    Windows are one column of small integers. Each label gets one extra count per code on average, spread like all
    codes, so that a rare label claims too little rather than too much. An unseen code gives the prior.
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


def _kernel_ridge(spec: ModelSpec) -> Any:
    """Nyström's approximation: exact kernel ridge takes rows³ time and rows² memory, minutes for 10,000 windows."""
    landmarks = Nystroem(n_components=min(LANDMARKS, spec.rows), random_state=spec.seed)
    return make_pipeline(StandardScaler(), landmarks, RidgeClassifier(alpha=KERNEL_PENALTY))


class KernelMachine:
    """A support-vector machine with a Gaussian kernel on landmarks: an exact one takes rows² time for each pair of
    classes.

    Repeated windows, as of a code book, are counted once with a weight: the same machine in a tenth of the time.
    """

    def __init__(self, spec: ModelSpec) -> None:
        landmarks = Nystroem(n_components=min(LANDMARKS, spec.rows), random_state=spec.seed)
        self.features = make_pipeline(StandardScaler(), landmarks)
        self.machine = LinearSVC(dual=False, random_state=spec.seed)

    def fit(self, windows: Floats, labels: NDArray[np.str_]) -> Self:
        self.features.fit(windows)
        numbers = np.unique(labels, return_inverse=True)[1]
        rows = np.ascontiguousarray(np.column_stack([windows, numbers]), dtype=np.float64)
        keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
        first, counts = np.unique(keys, return_index=True, return_counts=True)[1:]
        order = np.argsort(first)  # in the original order, which changes nothing if none repeats
        self.machine.fit(self.features.transform(windows[first[order]]), labels[first[order]], counts[order])
        return self

    def decision_function(self, windows: Floats) -> Floats:
        return np.asarray(self.machine.decision_function(self.features.transform(windows)))


def _gradient_boosting(spec: ModelSpec) -> Any:
    boosting = HistGradientBoostingClassifier(
        max_iter=int(np.clip(BOOSTED_TREES // spec.classes, FEWEST_ROUNDS, MOST_ROUNDS)),
        learning_rate=0.15,
        max_features=0.2,
        max_bins=63,
        early_stopping=False,  # would hold out a part, which fails for a class with one window
        random_state=spec.seed,
    )
    return _on_features(boosting, spec)


def _on_features(forest: Any, spec: ModelSpec) -> Any:
    return make_pipeline(WindowFeatures(spec.channels), forest)


MODELS: dict[str, Callable[[ModelSpec], Any]] = {
    "ridge": lambda _: make_pipeline(StandardScaler(), RidgeClassifier()),
    "kernel_ridge": _kernel_ridge,
    "svm": KernelMachine,
    "naive_bayes": lambda _: make_pipeline(StandardScaler(), GaussianNB(var_smoothing=LEAST_VARIANCE)),
    "random_forest": lambda spec: _on_features(RandomForestClassifier(TREES, random_state=spec.seed), spec),
    "extra_trees": lambda spec: _on_features(ExtraTreesClassifier(TREES, random_state=spec.seed), spec),
    "gradient_boosting": _gradient_boosting,
    "cnn": lambda spec: ConvolutionalClassifier(spec.channels, seed=spec.seed),
    "code_table": lambda _: CodeTable(),
}


@dataclass(frozen=True)
class TrainedModel:
    """A fitted model; windows are flat (window, value)."""

    name: str
    classes: NDArray[np.str_]
    estimator: Any
    log_prior: Floats
    """Logarithm of each class's share of the training windows."""
    values: Floats | None = None
    """Numeric values of the classes, if they are levels of a number."""

    @property
    def probabilistic(self) -> bool:
        """Whether scores are logarithms of posteriors, each including the prior once."""
        return hasattr(self.estimator, "predict_proba")

    def scores(self, windows: Floats) -> Floats:
        """One column per class; larger is likelier."""
        with single_thread():
            if self.probabilistic:
                return self._log_posteriors(self.estimator.predict_proba(windows))
            scores = np.asarray(self.estimator.decision_function(windows), dtype=np.float64)
        return np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores

    def _log_posteriors(self, probabilities: Floats) -> Floats:
        share = 0.0 if isinstance(self.estimator, CodeTable) else PRIOR_SHARE  # a code table smooths by itself
        return np.asarray(np.log((1 - share) * probabilities + share * np.exp(self.log_prior)))

    def choose(self, scores: Floats) -> NDArray[np.str_]:
        """The class with the highest score in each row, or the median for numbers."""
        if self.values is not None:
            return np.asarray(self.classes[medians(softmax(scores, axis=1), self.values)])
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
    spec = ModelSpec(len(windows), channels=channels, classes=len(classes), seed=seed)
    # Most models refuse a single class, or windows that are all equal, because nothing can be distinguished.
    several = len(classes) > 1 and bool(np.ptp(windows, axis=0).any())
    estimator = MODELS[name](spec) if several else DummyClassifier()
    with single_thread():
        estimator.fit(windows, texts)
    return TrainedModel(name, classes, estimator, np.log(counts / counts.sum()))
