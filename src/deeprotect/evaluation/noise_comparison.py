"""How much each mechanism disturbs at the same ε: of its code, and of the window that is released."""

from collections.abc import Sequence

import numpy as np

from deeprotect.evaluation.experiment import Experiment
from deeprotect.evaluation.methods import Option
from deeprotect.evaluation.results import NoiseRow
from deeprotect.signals.schema import Floats

# Certified against literal noise on the paper's own encoder, then on the default one; then mode 2 both ways.
OPTIONS = (
    Option("baseline", "ldp"),
    Option("paper", "ldp"),
    Option("laplace", "ldp", minimiser="paper"),
    Option("laplace", "ldp"),
    Option("paper", "rldp"),
    Option("subspace", "rldp"),
)


def noise_rows(experiment: Experiment, options: Sequence[Option], epsilon: float) -> list[NoiseRow]:
    """Measured on the bench's test windows."""
    return [_row(experiment, option, epsilon) for option in options]


def _row(experiment: Experiment, option: Option, epsilon: float) -> NoiseRow:
    protection = experiment.protection(option, epsilon)
    private = experiment.bench.test.flat
    code = protection.encode(private)
    released = experiment.release(option, epsilon)(private).windows
    without_noise = protection.decode(code)
    return NoiseRow(
        mechanism=option.mechanism,
        guarantee=option.guarantee,
        epsilon=epsilon,
        minimiser=option.made_of,
        dimensions=code.shape[1],
        code_error=protection.mechanism.expected_error(),
        code_spread=_spread(code),
        window_error=_mean_l1(released - without_noise),
        window_spread=_spread(without_noise),
        minimiser_error=_mean_l1(without_noise - private),
    )


def _spread(values: Floats) -> float:
    return _mean_l1(values - values.mean(axis=0))


def _mean_l1(difference: Floats) -> float:
    return float(np.abs(difference).sum(axis=1).mean())
