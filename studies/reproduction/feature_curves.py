"""The paper's comparison of features: how well few of each kind serve a linear app, and what each of them tells."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from deeprotect.attack.attackers import LabelledRows
from deeprotect.attack.predictions import Interval, Predictions
from deeprotect.evaluation.methods import Setting
from deeprotect.evaluation.runner import EvaluationCell, FittedFold, Progress, Question, Runner, split_into_tasks
from deeprotect.signals.schema import Floats
from studies.features.classical import KINDS, untrained
from studies.features.extractor_comparison import RAW, features_of, read_with_ridge
from studies.features.informativeness import informativeness
from studies.reproduction.size import Size

SHOWN = 7
"""The number of features that the paper settles on."""
STAGE = "feature curves"
_MOST_BINS = 20
_WEIGHT = 0.05  # of the seconds that rows take for the same tasks: one linear app, and no attacker


@dataclass(frozen=True)
class CurvePoint:
    """Ridge accuracy by number of features of one kind, all folds joined; `raw` are all values of a window.

    `informativeness` is I(f; y) / H(y) of each feature on tested windows, highest first, the mean over folds; only
    where the paper shows it.
    """

    feature_extractor: str
    features: int
    accuracy: float
    accuracy_ci: Interval
    chance: float
    informativeness: tuple[float, ...] = ()


class _Reading(NamedTuple):
    """Accuracy in one fold."""

    predictions: Predictions
    informativeness: Floats | None


def settings(size: Size, values: int) -> list[Setting]:
    """Every kind and number of features, and all values of a window."""
    kinds = [features_of(name, count=count) for name in KINDS for count in size.features]
    return [*kinds, features_of(RAW, count=values)]


def weight(size: Size, folds: int) -> float:
    """Seconds to expect, roughly."""
    return _WEIGHT * expected_seconds(settings(size, 1), folds=folds)


def curves(runner: Runner, size: Size, *, folds: int, progress: Progress = lambda _: None) -> list[CurvePoint]:
    """Every kind and number of features, on the first folds, joined."""
    wanted = settings(size, runner.policy.stream.dim)
    results = runner.measure(Question(wanted, partial(_read, steps=size.steps), folds), progress=progress)
    return [_point(setting, readings) for setting, readings in results.by_setting().items()]


def expected_seconds(settings: Sequence[Setting], *, folds: int) -> float:
    """Rough progress over all cells of the settings, in sequence."""
    cells = [EvaluationCell(fold, setting) for fold in range(folds) for setting in settings]
    return sum(task.weight for task in split_into_tasks([cells]))


def _point(setting: Setting, readings: Sequence[_Reading]) -> CurvePoint:
    name, count = setting.method.learnt, setting.features or 0
    joined = Predictions.join([each.predictions for each in readings])
    shares = [each.informativeness for each in readings if each.informativeness is not None]
    means = tuple(map(float, np.mean(shares, axis=0))) if shares else ()
    return CurvePoint(name, count, joined.accuracy, joined.interval, joined.chance, means)


def _read(fold: FittedFold, cell: EvaluationCell, *, steps: int) -> _Reading:
    """Features learnt on the fold's own training side."""
    name, count = cell.setting.method.learnt, cell.setting.features
    with fold.stopwatch(STAGE):
        learn, test = fold.evaluator.rows(fold.policy.inferences.useful[0])
        if name != RAW:
            model = untrained(fold.policy, name, features=count)
            # So many are learnt here that the paper's autoencoder has fewer steps.
            model = model.set_params(max_iter=steps) if name == "paper" else model
            model = model.fit(learn.rows, learn.labels)
            learn, test = learn.with_rows(model.transform(learn.rows)), test.with_rows(model.transform(test.rows))
        shown = count == SHOWN and name != RAW
        return _Reading(read_with_ridge(learn, test), _informativeness(test) if shown else None)


def _informativeness(test: LabelledRows) -> Floats:
    """Sorted, highest first; so few bins that each holds several windows of each class."""
    classes = len(set(test.labels))
    bins = int(np.clip(round((len(test.labels) / classes) ** 0.5), 2, _MOST_BINS))
    return np.sort(informativeness(test.rows, test.labels, bins=bins))[::-1]
