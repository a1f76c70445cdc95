"""Mechanisms × ε, the noise they add, and the minimisers beneath, on a small stream."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import torch

from deeprotect.evaluation import minimiser_comparison as minimisers
from deeprotect.evaluation import noise_comparison as noise
from deeprotect.evaluation.evaluator import Bench
from deeprotect.evaluation.experiment import Experiment
from deeprotect.evaluation.methods import FEATURES, OPTIONS, Option
from deeprotect.policy import Policy
from deeprotect.training import fitted as parts
from deeprotect.training.minimisers.minimiser import Minimiser
from deeprotect.training.threads import single_thread


@pytest.fixture(scope="module")
def fits() -> list[str]:
    """Which minimisers were fitted, in order."""
    return []


@pytest.fixture(scope="module")
def experiment(bench: Bench, policy: Policy, fits: list[str]) -> Iterator[Experiment]:
    fit = Minimiser.fit

    def counted(self: Minimiser, X: Any, y: Any = None) -> Minimiser:
        fits.append(type(self).__name__)
        return fit(self, X, y)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Minimiser, "fit", counted)
        patch.setattr(parts, "STEPS", 50)
        yield Experiment(bench, policy)


def test_every_mechanism_gives_a_row_and_minimisers_are_fitted_once(experiment: Experiment, fits: list[str]) -> None:
    rows = list(experiment.rows(OPTIONS, (1.0, 50.0)))
    assert [(row.mechanism, row.guarantee, row.epsilon) for row in rows] == [
        (option.mechanism, option.guarantee, epsilon) for option in OPTIONS for epsilon in (1.0, 50.0)
    ]
    assert sorted(fits) == ["Autoencoder", "PaperAutoencoder"]
    for row in rows:
        assert (row.sensitive["person"].limit is None) is (row.guarantee == "rldp")
        assert row.sensitive["person"].raw > 0.9
        assert row.promise
    assert {row.minimiser for row in rows if row.mechanism == "baseline"} == {"none"}


def test_the_same_seed_gives_the_same_row(bench: Bench, policy: Policy) -> None:
    rows = [Experiment(bench, policy).row(Option("laplace", "ldp"), 5.0) for _ in range(2)]
    assert rows[0] == rows[1]


def test_an_unlimited_epsilon_releases_what_the_minimiser_releases(experiment: Experiment) -> None:
    row, reference = (experiment.row(option, 1e5) for option in (Option("laplace", "ldp"), Option(FEATURES, "none")))
    # The clip box leaves out the farthest hundredth of the features: a small difference remains.
    assert row.useful["activity"].app == pytest.approx(reference.useful["activity"].app, abs=0.1)
    assert (reference.epsilon, reference.useful["activity"].limit) == (None, None)


def test_certified_noise_is_at_least_five_times_smaller_than_the_papers(experiment: Experiment) -> None:
    rows = {
        (row.mechanism, row.guarantee, row.minimiser): row for row in noise.noise_rows(experiment, noise.OPTIONS, 5.0)
    }
    paper, certified = rows["paper", "ldp", "paper"], rows["laplace", "ldp", "paper"]
    assert paper.code_spread == certified.code_spread
    assert certified.code_error * 5 <= paper.code_error


def test_noise_of_the_baseline_is_known(experiment: Experiment) -> None:
    (row,) = noise.noise_rows(experiment, [Option("baseline", "ldp")], 5.0)
    # Lap(d/ε) on each of d = 10 samples.
    assert row.code_error == pytest.approx(10 * 10 / 5, rel=1e-3)
    assert row.minimiser_error == pytest.approx(0.0, abs=1e-5)  # networks compute in float32
    assert 0 < row.window_error < row.code_error


def test_minimisers_are_compared_on_the_same_number_of_features(experiment: Experiment) -> None:
    rows = minimisers.compare(experiment, names=("default", "pca", "dct"))
    assert [(row.minimiser, row.features) for row in rows] == [("default", 3), ("pca", 3), ("dct", 3), ("raw", 10)]
    for row in rows:
        assert row.accuracy_ci[0] <= row.accuracy <= row.accuracy_ci[1]
        assert 0 <= row.informativeness_mean <= row.informativeness_max <= 1


def test_training_on_one_thread_leaves_the_number_of_threads_as_it_was() -> None:
    before = torch.get_num_threads()
    with suppress(RuntimeError), single_thread():
        assert torch.get_num_threads() == 1
        raise RuntimeError
    assert torch.get_num_threads() == before
