"""How much noise each mechanism needs for the same ε."""

import pytest

from deeprotect.bundle.network import STEPS
from deeprotect.evaluation.methods import Method
from deeprotect.evaluation.runner import Runner
from studies.features.noise_comparison import NoiseRow, compare_noise, findings


def test_certified_noise_is_at_least_five_times_smaller_than_the_papers(runner: Runner) -> None:
    rows = {(row.mechanism, row.guarantee, row.feature_extractor): row for row in compare_noise(runner, 5.0)}
    paper, certified = rows["paper", "ldp", "paper"], rows["laplace", "ldp", "paper"]
    assert paper.code_spread == certified.code_spread
    assert certified.code_error * 5 <= paper.code_error


def test_noise_of_the_baseline_is_known(runner: Runner) -> None:
    (row,) = compare_noise(runner, 5.0, methods=[Method("baseline", "ldp")])
    # Lap(d/ε) on each of d = 10 samples.
    assert row.code_error == pytest.approx(10 * 10 / 5, rel=1e-3)
    assert row.feature_extractor_error <= 10 * 0.5 / STEPS  # windows lie on a grid
    assert 0 < row.window_error < row.code_error


def test_findings_speak_only_of_what_was_compared() -> None:
    noise = [
        NoiseRow("paper", "ldp", 5.0, "paper", 7, 960.0, 1.2, 30.0, 9.0, 4.0),
        NoiseRow("laplace", "ldp", 5.0, "paper", 7, 2.5, 1.2, 12.0, 9.0, 4.0),
    ]
    assert findings(noise).startswith("On the paper's own encoder, certified noise is 384 times smaller")
    assert "mode 2" not in findings(noise)
    assert findings(noise[:1]) == findings([]) == ""
