"""Measuring releases on one split."""

from dataclasses import replace

import numpy as np
import pytest

from deeprotect.errors import TableError
from deeprotect.evaluation.bench import Bench, Setup
from deeprotect.policy import Policy
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.privacy.laplace import baseline
from deeprotect.privacy.limits import best_accuracy
from deeprotect.training.windows import LabelledWindows


def _unprotected(private: np.ndarray) -> np.ndarray:
    return private


def _nothing(private: np.ndarray) -> np.ndarray:
    return np.full_like(private, 0.5)


def test_attackers_succeed_on_an_unprotected_release(bench: Bench) -> None:
    useful, sensitive = bench.measure(_unprotected, guarantee="none", epsilon=np.inf)
    person, activity = sensitive["person"], useful["activity"]
    assert person.raw == person.static == person.adaptive > 0.9
    assert activity.clean == activity.app == activity.retrained > 0.8
    assert person.pooled[1] == person.adaptive


def test_a_release_of_nothing_leaves_chance(bench: Bench) -> None:
    useful, sensitive = bench.measure(_nothing, guarantee="ldp", epsilon=1.0)
    assert sensitive["person"].adaptive <= sensitive["person"].chance + 1e-9
    assert useful["activity"].app <= useful["activity"].chance + 1e-9


def test_under_ldp_nobody_beats_the_limit(bench: Bench) -> None:
    entropy, epsilon = SeededEntropy(0), 0.5
    noise = baseline(bench.train.flat.shape[1], epsilon)
    useful, sensitive = bench.measure(
        lambda private: noise.privatise(private, entropy=entropy), guarantee="ldp", epsilon=epsilon
    )
    limit = sensitive["person"].limit
    assert limit == best_accuracy(epsilon, [1, 1, 1])
    assert sensitive["person"].adaptive_ci[0] <= limit
    assert useful["activity"].app_ci[0] <= useful["activity"].limit


@pytest.mark.parametrize(
    ("guarantee", "useful_bound", "sensitive_bound"),
    [("ldp", True, True), ("named", False, True), ("rldp", False, False)],
)
def test_the_limit_stands_only_where_epsilon_bounds_something(
    bench: Bench, guarantee: str, useful_bound: bool, sensitive_bound: bool
) -> None:
    useful, sensitive = bench.measure(_nothing, guarantee=guarantee, epsilon=1.0)
    assert (useful["activity"].limit is not None) is useful_bound
    assert (sensitive["person"].limit is not None) is sensitive_bound


def test_the_same_seed_measures_the_same(bench: Bench) -> None:
    first, second = (bench.measure(_unprotected, guarantee="ldp", epsilon=1.0) for _ in range(2))
    assert first == second


def test_windows_without_a_label_are_left_out(windows: LabelledWindows, policy: Policy) -> None:
    person = windows.labels["person"].copy()
    person[windows.labels["activity"] == "run"] = None
    partly = replace(windows, labels={**windows.labels, "person": person})
    bench = Bench.prepare(partly, policy, Setup(attackers=("extra_trees",)))
    _, sensitive = bench.measure(_unprotected, guarantee="ldp", epsilon=1.0)
    assert sensitive["person"].adaptive > 0.9
    assert sensitive["person"].chance == pytest.approx(1 / 3)


def test_an_inference_without_labels_is_refused_by_name(windows: LabelledWindows, policy: Policy) -> None:
    nobody = np.full(len(windows), None, dtype=object)
    empty = replace(windows, labels={**windows.labels, "person": nobody})
    with pytest.raises(TableError, match="'person'"):
        Bench.prepare(empty, policy, Setup())
