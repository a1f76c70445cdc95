"""Intervals of accuracies, for independent windows and for windows in clusters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from deeprotect.attack.predictions import clustered, of_people, wilson

RIGHT_IN_CLUSTERS = st.lists(st.tuples(st.booleans(), st.integers(0, 30)), min_size=1, max_size=120)


def _simulated(seed: int, *, clusters: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Right predictions whose chance differs from cluster to cluster, 0.7 on average; cluster sizes differ, too."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(clusters), rng.integers(1, 2 * size, size=clusters))
    return rng.random(len(cluster)) < rng.beta(2.1, 0.9, size=clusters)[cluster], cluster


@given(st.integers(1, 5000), st.floats(0, 1))
def test_interval_is_wilsons(total: int, share: float) -> None:
    correct = round(share * total)
    reference = binomtest(correct, total).proportion_ci(0.95, method="wilson")
    assert wilson(correct, total) == pytest.approx((reference.low, reference.high), abs=1e-9)


@given(st.integers(1, 5000), st.floats(0, 1))
def test_interval_holds_the_share_and_stays_a_share(total: int, share: float) -> None:
    correct = round(share * total)
    low, high = wilson(correct, total)
    assert 0 <= low <= correct / total <= high <= 1
    assert low < high


def test_more_windows_make_the_interval_narrower() -> None:
    few, many = wilson(30, 100), wilson(300, 1000)
    assert many[1] - many[0] < few[1] - few[0]


def test_no_windows_have_no_interval() -> None:
    with pytest.raises(ValueError, match="not a share"):
        wilson(0, 0)
    with pytest.raises(ValueError, match="not a share"):
        clustered(np.empty(0, dtype=bool), np.empty(0, dtype=np.int64))


@given(RIGHT_IN_CLUSTERS)
def test_clustered_interval_holds_wilsons_and_the_share(rows: list[tuple[bool, int]]) -> None:
    right, cluster = (np.array(column) for column in zip(*rows, strict=True))
    narrow, wide = wilson(int(right.sum()), len(right)), clustered(right, cluster)
    assert 0 <= wide[0] <= narrow[0] <= right.mean() <= narrow[1] <= wide[1] <= 1


def test_clustered_interval_covers_the_truth_where_wilsons_does_not() -> None:
    trials = [_simulated(seed, clusters=40, size=20) for seed in range(300)]
    wilsons = [wilson(int(right.sum()), len(right)) for right, _ in trials]
    ours = [clustered(right, cluster) for right, cluster in trials]
    missed, covered = (np.mean([low <= 0.7 <= high for low, high in some]) for some in (wilsons, ours))
    assert missed < 0.65
    assert covered > 0.88


def test_windows_that_are_their_own_cluster_are_independent() -> None:
    right = np.random.default_rng(0).random(2000) < 0.7
    np.testing.assert_allclose(clustered(right, np.arange(2000)), wilson(int(right.sum()), 2000), atol=0.005)


def test_a_few_clusters_get_wilsons_interval() -> None:
    right = np.tile([True, False, True], 40)
    assert clustered(right, np.arange(120) % 4) == wilson(80, 120)


def test_the_names_and_the_order_of_clusters_do_not_matter() -> None:
    right, cluster = _simulated(0, clusters=20, size=10)
    order = np.random.default_rng(1).permutation(len(right))
    assert clustered(right, cluster) == clustered(right[order], 1000 + 7 * cluster[order])


def test_the_same_seed_gives_the_same_interval() -> None:
    right, cluster = _simulated(0, clusters=20, size=10)
    assert clustered(right, cluster, seed=3) == clustered(right, cluster, seed=3)


def test_the_interval_over_people_covers_the_mean_of_all_people_as_often_as_it_says() -> None:
    """Ten people out of very many, whose accuracies differ: a bootstrap over ten would hold it in 0.89 of cases."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(2000):
        low, high = of_people(rng.beta(8, 2, size=10)) or (0.0, 0.0)
        held += low <= 0.8 <= high
    assert 0.925 <= held / 2000 <= 0.97


def test_one_person_says_nothing_about_the_next() -> None:
    assert of_people(np.array([0.9])) is None
    assert of_people(np.empty(0)) is None
