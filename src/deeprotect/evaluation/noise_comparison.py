"""How much each mechanism disturbs at the same ε: of its code, and of the window that is released."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from deeprotect.evaluation.fitted_fold import FittedFold
from deeprotect.evaluation.methods import Method
from deeprotect.evaluation.results import NoiseRow
from deeprotect.evaluation.runner import EvaluationCell, Question, Runner
from deeprotect.evaluation.settings import grid
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.signals.schema import Floats

# Certified against literal noise on the paper's own encoder, then on the default one; then mode 2 both ways.
METHODS = (
    Method("baseline", "ldp"),
    Method("paper", "ldp"),
    Method("laplace", "ldp", minimiser="paper"),
    Method("laplace", "ldp"),
    Method("paper", "rldp"),
    Method("subspace", "rldp"),
)


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
        minimiser=method.made_of,
        dimensions=code.shape[1],
        code_error=protector.mechanism.expected_error(),
        code_spread=_spread(code),
        window_error=_mean_l1(released - without_noise),
        window_spread=_spread(without_noise),
        minimiser_error=_mean_l1(without_noise - private),
    )


def _spread(values: Floats) -> float:
    return _mean_l1(values - values.mean(axis=0))


def _mean_l1(difference: Floats) -> float:
    return float(np.abs(difference).sum(axis=1).mean())
