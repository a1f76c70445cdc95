"""Few features of each kind, read by a linear app."""

from deeprotect.evaluation.runner import Runner
from studies.features.minimiser_comparison import compare_minimisers


def test_minimisers_are_compared_on_the_same_number_of_features(runner: Runner) -> None:
    rows = compare_minimisers(runner, names=("default", "pca", "dct"))
    assert [(row.minimiser, row.features) for row in rows] == [("default", 3), ("pca", 3), ("dct", 3), ("raw", 10)]
    for row in rows:
        assert row.accuracy_ci[0] <= row.accuracy <= row.accuracy_ci[1]
        assert 0 <= row.informativeness_mean <= row.informativeness_max <= 1
