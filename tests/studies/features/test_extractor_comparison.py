"""Few features of each kind, read by a linear app."""

from deeprotect.evaluation.runner import Runner
from studies.features.extractor_comparison import compare_feature_extractors


def test_feature_extractors_are_compared_on_the_same_number_of_features(runner: Runner) -> None:
    rows = compare_feature_extractors(runner, names=("default", "pca", "dct"))
    assert [(row.feature_extractor, row.features) for row in rows] == [
        ("default", 3),
        ("pca", 3),
        ("dct", 3),
        ("raw", 10),
    ]
    for row in rows:
        assert row.accuracy_ci[0] <= row.accuracy <= row.accuracy_ci[1]
        assert 0 <= row.informativeness_mean <= row.informativeness_max <= 1
