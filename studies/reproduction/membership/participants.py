"""`python -m studies participants`: what it would cost to hide who took part.

The cheapest coder that one can make user-level private: class means of few features, a clipped mean over people with
Gaussian noise (Dwork and Roth, appendix A). What noise does to it, it does to a network with a thousand times as many
weights. docs/results.md#hiding-who-took-part
"""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import Indices, LabelledWindows
from studies.reproduction.study import Study

STUDIES = ("watch-exercise", "hapt-mode")
EPSILONS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
DELTA = 1e-3
REPEATS = 20


def features(windows: LabelledWindows) -> Floats:
    """Mean, spread, least and largest value of each channel, around the middle of the range."""
    samples = windows.samples
    parts = [samples.mean(axis=1) - 0.5, samples.std(axis=1), samples.min(axis=1) - 0.5, samples.max(axis=1) - 0.5]
    return np.concatenate(parts, axis=1)


def class_means(found: Floats, classes: Indices, people: Indices) -> Floats:
    """Features (person, class, feature); the middle for classes that a person did not perform."""
    means = np.zeros((people.max() + 1, classes.max() + 1, found.shape[1]))
    for person, each in np.unique(np.stack([people, classes], axis=1), axis=0):
        means[person, each] = found[(people == person) & (classes == each)].mean(axis=0)
    return means


def private_means(means: Floats, *, epsilon: float, rng: np.random.Generator) -> Floats:
    """The mean over people, each clipped to the median norm, which is given away for nothing; one may change."""
    norms = np.linalg.norm(means.reshape(len(means), -1), axis=1)
    clip = float(np.median(norms))
    clipped = means * np.minimum(1.0, clip / norms)[:, None, None]
    spread = 2.0 * clip / len(means) * math.sqrt(2.0 * math.log(1.25 / DELTA)) / epsilon if epsilon < math.inf else 0.0
    return np.asarray(clipped.mean(axis=0) + spread * rng.standard_normal(means.shape[1:]))


def accuracy(means: Floats, found: Floats, classes: Indices) -> float:
    """Accuracy of the nearest mean."""
    return float((((found[:, None] - means) ** 2).sum(axis=2).argmin(axis=1) == classes).mean())


def measure(study: Study, directory: Path | None) -> Iterator[str]:
    """A line for each ε."""
    data = study.load(directory)
    windows = study.windows(data, study.policy(data))
    classes = np.unique(windows.labels[study.useful].astype(str), return_inverse=True)[1]
    people = np.unique(windows.people, return_inverse=True)[1]
    found, rng = features(windows), np.random.default_rng(0)
    means = class_means(found, classes, people)
    for epsilon in (*EPSILONS, math.inf):
        drawn = [accuracy(private_means(means, epsilon=epsilon, rng=rng), found, classes) for _ in range(REPEATS)]
        yield f"{study.name}: {len(means)} people, epsilon = {epsilon:g}: {np.mean(drawn):.3f} (±{np.std(drawn):.3f})"
