"""The paper's comparison of feature extractors: few features of each kind, one linear app, one useful inference."""

from collections.abc import Sequence
from dataclasses import dataclass

from deeprotect.attack.attackers import LabelledRows
from deeprotect.attack.models import train
from deeprotect.attack.predictions import Interval, Predictions, wilson
from deeprotect.evaluation.methods import FEATURES, Method, Setting
from deeprotect.evaluation.runner import EvaluationCell, FittedFold, Question, Runner
from studies.features.classical import KINDS, untrained
from studies.features.informativeness import informativeness

RAW = "raw"
"""All values of the window, as the reference."""


@dataclass(frozen=True)
class FeatureRow:
    """How well few features serve one useful inference: ridge accuracy, and I(f; y) / H(y) of the features."""

    feature_extractor: str
    features: int
    accuracy: float
    accuracy_ci: Interval
    informativeness_mean: float
    informativeness_max: float


def compare_feature_extractors(runner: Runner, *, names: Sequence[str] = KINDS) -> list[FeatureRow]:
    """Ridge accuracy on the policy's number of features for its first useful inference; last, on all raw values."""
    return list(runner.measure(features_question(names=names)).values.values())


def features_question(*, names: Sequence[str] = KINDS) -> Question[FeatureRow]:
    return Question([features_of(name) for name in (*names, RAW)], _feature_row, folds=1)


def features_of(name: str, *, count: int | None = None) -> Setting:
    """Features of one kind, without noise: as many as the policy says, or `count`."""
    return Setting(Method(FEATURES, "none", feature_extractor=name), features=count)


def read_with_ridge(learn: LabelledRows, test: LabelledRows) -> Predictions:
    return test.predictions(train("ridge", learn.rows, learn.labels, seed=0).predict(test.rows))


def _feature_row(fold: FittedFold, cell: EvaluationCell) -> FeatureRow:
    """Informativeness is measured on the test side: a feature must not profit from having been fitted."""
    name = cell.setting.method.learnt
    learn, test = fold.evaluator.rows(fold.policy.inferences.useful[0])
    if name != RAW:
        useful = fold.train.targets(fold.policy.inferences.useful)
        features = untrained(fold.policy, name).fit(fold.train.flat, useful).transform
        learn, test = learn.with_rows(features(learn.rows)), test.with_rows(features(test.rows))
    right = read_with_ridge(learn, test).right
    shares = informativeness(test.rows, test.labels)
    return FeatureRow(
        feature_extractor=name,
        features=test.rows.shape[1],
        accuracy=float(right.mean()),
        accuracy_ci=wilson(int(right.sum()), len(right)),
        informativeness_mean=float(shares.mean()),
        informativeness_max=float(shares.max()),
    )
