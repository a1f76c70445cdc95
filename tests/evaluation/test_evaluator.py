"""Measuring releases on one split."""

from dataclasses import replace

import numpy as np
import pytest

from deeprotect.attack.models import MODELS
from deeprotect.errors import TableError
from deeprotect.evaluation.evaluator import CODE_TABLE, Bench, Released, Setup
from deeprotect.evaluation.experiment import Experiment
from deeprotect.evaluation.fold_predictions import Measured
from deeprotect.policy import Policy
from deeprotect.privacy.accuracy_bound import best_accuracy
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.privacy.laplace import baseline
from deeprotect.training.dataset import LabelledWindows


def _unprotected(private: np.ndarray) -> Released:
    return Released(private)


def _nothing(private: np.ndarray) -> Released:
    return Released(np.full_like(private, 0.5))


def test_every_attacker_succeeds_on_an_unprotected_release(windows: LabelledWindows, policy: Policy) -> None:
    setup = Setup(attackers=tuple(name for name in MODELS if name != CODE_TABLE), pools=(1,))
    measured = Experiment.on(windows, policy, setup).bench.measure(_unprotected)
    assert set(measured.sensitive["person"].adaptive) == set(setup.attackers)
    for name, guesses in measured.sensitive["person"].adaptive.items():
        # Three people in a row are hard on a straight line: the one in the middle has no side of its own.
        assert guesses.accuracy > (0.7 if name == "ridge" else 0.9), name


def test_what_is_released_raw_is_read_as_raw(bench: Bench) -> None:
    measured = bench.measure(_unprotected)
    useful, sensitive = measured.sum_up("none", None)
    person, activity = sensitive["person"], useful["activity"]
    assert person.raw == person.static == person.adaptive > 0.9
    assert activity.clean == activity.app == activity.retrained > 0.8
    assert person.pooled[1] == person.adaptive == person.attackers[person.best_attacker]
    assert person.pooled_raw == person.pooled
    assert measured.error.tolist() == [0.0, 0.0]


def test_a_release_of_nothing_leaves_chance(bench: Bench) -> None:
    useful, sensitive = bench.measure(_nothing).sum_up("ldp", 1.0)
    assert sensitive["person"].adaptive <= sensitive["person"].chance + 1e-9
    assert useful["activity"].app <= useful["activity"].chance + 1e-9


def test_who_knows_the_code_reads_what_no_window_shows(bench: Bench) -> None:
    """Windows all alike, but a public code that names the person: only an attacker who looks it up can tell."""
    sides = {
        len(side): np.unique(side.labels["person"].astype(str), return_inverse=True)[1]
        for side in (bench.train, bench.test)
    }
    measured = bench.measure(lambda private: Released(np.zeros_like(private), sides[len(private)]))
    person = measured.sum_up("none", None)[1]["person"]
    assert (person.best_attacker, person.adaptive) == (CODE_TABLE, 1.0)
    assert person.attackers["random_forest"] <= person.chance + 1e-9


def test_under_ldp_nobody_beats_the_limit(bench: Bench) -> None:
    entropy, epsilon = SeededEntropy(0), 0.5
    noise = baseline(bench.train.flat.shape[1], epsilon)
    measured = bench.measure(lambda private: Released(noise.privatise(private, entropy=entropy)))
    useful, sensitive = measured.sum_up("ldp", epsilon)
    limit = sensitive["person"].limit
    assert limit == best_accuracy(epsilon, [1, 1, 1])
    assert sensitive["person"].adaptive_ci[0] <= limit
    assert useful["activity"].app_ci[0] <= useful["activity"].limit
    assert (measured.error > 0.3).all()


@pytest.mark.parametrize(
    ("guarantee", "useful_bound", "sensitive_bound"),
    [("ldp", True, True), ("named", False, True), ("rldp", False, False), ("none", False, False)],
)
def test_the_limit_stands_only_where_epsilon_bounds_something(
    bench: Bench, guarantee: str, useful_bound: bool, sensitive_bound: bool
) -> None:
    useful, sensitive = bench.measure(_nothing).sum_up(guarantee, 1.0)
    assert (useful["activity"].limit is not None) is useful_bound
    assert (sensitive["person"].limit is not None) is sensitive_bound


def test_the_same_seed_measures_the_same(bench: Bench) -> None:
    first, second = (bench.measure(_unprotected).sum_up("ldp", 1.0) for _ in range(2))
    assert first == second


def test_joined_folds_are_measured_as_one(bench: Bench) -> None:
    good, bad = bench.measure(_unprotected), bench.measure(_nothing)
    apps = [part.useful["activity"].app.accuracy for part in (good, bad)]
    whole = Measured.join([good, bad])
    assert whole.useful["activity"].app.accuracy == pytest.approx(np.mean(apps))
    assert whole.windows == 2 * len(bench.test)
    assert whole.error == pytest.approx(bad.error / 2)


def test_windows_without_a_label_are_left_out(windows: LabelledWindows, policy: Policy) -> None:
    person = windows.labels["person"].copy()
    person[windows.labels["activity"] == "run"] = None
    partly = replace(windows, labels={**windows.labels, "person": person})
    bench = Experiment.on(partly, policy, Setup(attackers=("extra_trees",))).bench
    _, sensitive = bench.measure(_unprotected).sum_up("ldp", 1.0)
    assert sensitive["person"].adaptive > 0.9
    assert sensitive["person"].chance == pytest.approx(1 / 3)


def test_an_inference_without_labels_is_refused_by_name(windows: LabelledWindows, policy: Policy) -> None:
    nobody = np.full(len(windows), None, dtype=object)
    empty = replace(windows, labels={**windows.labels, "person": nobody})
    with pytest.raises(TableError, match="'person'"):
        Experiment.on(empty, policy, Setup())


def test_classes_that_a_split_tears_apart_are_refused(windows: LabelledWindows, policy: Policy) -> None:
    ann, bob = (windows[windows.labels["person"] == name] for name in ("ann", "bob"))
    with pytest.raises(TableError, match="both sides"):
        Bench.prepare(ann, bob, policy, Setup())
