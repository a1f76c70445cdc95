"""How much noise each mechanism needs for the same ε."""

import pytest

from deeprotect.bundle.output_table import STEPS
from deeprotect.evaluation.methods import Method
from deeprotect.evaluation.noise_comparison import compare_noise
from deeprotect.evaluation.runner import Runner


def test_certified_noise_is_at_least_five_times_smaller_than_the_papers(runner: Runner) -> None:
    rows = {(row.mechanism, row.guarantee, row.minimiser): row for row in compare_noise(runner, 5.0)}
    paper, certified = rows["paper", "ldp", "paper"], rows["laplace", "ldp", "paper"]
    assert paper.code_spread == certified.code_spread
    assert certified.code_error * 5 <= paper.code_error


def test_noise_of_the_baseline_is_known(runner: Runner) -> None:
    (row,) = compare_noise(runner, 5.0, methods=[Method("baseline", "ldp")])
    # Lap(d/ε) on each of d = 10 samples.
    assert row.code_error == pytest.approx(10 * 10 / 5, rel=1e-3)
    assert row.minimiser_error <= 10 * 0.5 / STEPS  # windows lie on a grid
    assert 0 < row.window_error < row.code_error
