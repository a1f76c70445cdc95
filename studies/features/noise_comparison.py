"""How much each mechanism disturbs at the same ε: of its code, and of the window that is released."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from deeprotect.evaluation.methods import Method, grid
from deeprotect.evaluation.runner import EvaluationCell, FittedFold, Question, Runner
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.signals.schema import Floats
from studies.features.expected_noise import expected_noise

# Certified against literal noise on the paper's own encoder, then on the default one; then mode 2 both ways.
METHODS = (
    Method("baseline", "ldp"),
    Method("paper", "ldp"),
    Method("laplace", "ldp", feature_extractor="paper"),
    Method("laplace", "ldp"),
    Method("paper", "rldp"),
)


@dataclass(frozen=True)
class NoiseRow:
    """How much a mechanism disturbs one window, in L1.

    `code_error` is E‖noise‖₁ of the code by formula, `code_spread` how far codes lie from their mean: only their
    ratio compares codes of different scale. `window_error` and `window_spread` are the same, measured in released
    windows of samples scaled to [0, 1]; `feature_extractor_error` is what is lost there without any noise.
    """

    mechanism: str
    guarantee: str
    epsilon: float
    feature_extractor: str
    dimensions: int
    code_error: float
    code_spread: float
    window_error: float
    window_spread: float
    feature_extractor_error: float


def compare_noise(runner: Runner, epsilon: float, *, methods: Sequence[Method] = METHODS) -> list[NoiseRow]:
    """Measured on the test windows of the first fold."""
    return list(runner.measure(noise_question(epsilon, methods=methods)).values.values())


def noise_question(epsilon: float, *, methods: Sequence[Method] = METHODS) -> Question[NoiseRow]:
    return Question(grid(methods, [epsilon]), partial(_noise_row, epsilon=epsilon), folds=1)


def _noise_row(fold: FittedFold, cell: EvaluationCell, *, epsilon: float) -> NoiseRow:
    method, protector = cell.setting.method, fold.protector(cell.setting)
    private = fold.test.flat
    code = protector.encode(private)
    released = protector.release(private, entropy=SeededEntropy(fold.evaluator.setup.seed)).windows
    without_noise = protector.decode(code)
    return NoiseRow(
        mechanism=method.mechanism,
        guarantee=method.guarantee,
        epsilon=epsilon,
        feature_extractor=method.made_of,
        dimensions=code.shape[1],
        code_error=expected_noise(protector.mechanism),
        code_spread=_spread(code),
        window_error=_mean_l1(released - without_noise),
        window_spread=_spread(without_noise),
        feature_extractor_error=_mean_l1(without_noise - private),
    )


def _spread(values: Floats) -> float:
    return _mean_l1(values - values.mean(axis=0))


def _mean_l1(difference: Floats) -> float:
    return float(np.abs(difference).sum(axis=1).mean())


def findings(rows: Sequence[NoiseRow]) -> str:
    """The comparison with the paper, in words, where its rows are there."""
    found = {(row.mechanism, row.guarantee, row.feature_extractor): row for row in rows}
    paper, ours = found.get(("paper", "ldp", "paper")), found.get(("laplace", "ldp", "paper"))
    if not (paper and ours and ours.code_error):
        return ""
    return (
        f"On the paper's own encoder, certified noise is {paper.code_error / ours.code_error:,.0f} times smaller "
        "than the paper's, for the same promise."
    )
