"""The effect of the KL term of the paper's autoencoder on its units' activity and on its features' information."""

from dataclasses import dataclass

import numpy as np

from deeprotect.attack.predictions import Interval
from deeprotect.evaluation.runner import EvaluationCell, FittedFold, Question, Runner
from studies.features.classical import untrained
from studies.features.extractor_comparison import features_of, read_with_ridge

PAPER = "paper"
WEAK, STRONG = 1e-3, 1.0
"""The weight that the feature extractor has elsewhere, and one at which units follow ρ."""
TRIED = ((0.5, WEAK), (0.05, WEAK), (0.5, STRONG), (0.2, STRONG), (0.05, STRONG))
"""ρ and the weight of the term. A sigmoid of small numbers is near one half, where ρ = 0.5 asks for nothing."""


@dataclass(frozen=True)
class SparsityRow:
    """Mean activity of the features on tested windows, how much they move, and how a linear app reads them."""

    rho: float
    weight: float
    activity: float
    spread: float
    accuracy: float
    accuracy_ci: Interval


def compare_sparsity(runner: Runner) -> list[SparsityRow]:
    """The paper's autoencoder with each ρ and weight, on the first fold."""
    (rows,) = runner.measure(Question([features_of(PAPER)], _rows, folds=1)).values.values()
    return rows


def _rows(fold: FittedFold, _: EvaluationCell) -> list[SparsityRow]:
    learn, test = fold.evaluator.rows(fold.policy.inferences.useful[0])
    found = []
    for rho, weight in TRIED:
        model = untrained(fold.policy, PAPER).set_params(rho=rho, sparsity=weight).fit(learn.rows, learn.labels)
        features = model.transform(test.rows)
        read = read_with_ridge(learn.with_rows(model.transform(learn.rows)), test.with_rows(features))
        spread = float(np.mean(features.std(axis=0)))
        found.append(SparsityRow(rho, weight, float(features.mean()), spread, read.accuracy, read.interval))
    return found
