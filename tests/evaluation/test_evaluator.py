"""Measuring releases on one split."""

from dataclasses import replace

import numpy as np
import pytest
from tests.evaluation.conftest import one_fold

from deeprotect.attack.models import MODELS
from deeprotect.errors import TableError
from deeprotect.evaluation.evaluator import CODE_TABLE, Evaluator, FoldRelease, ReleasedRows, Setup
from deeprotect.evaluation.results import FoldPredictions
from deeprotect.policy import Policy
from deeprotect.privacy.accuracy_bound import best_accuracy
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.privacy.mechanisms.laplace import baseline
from deeprotect.training.labelled_windows import LabelledWindows

_unprotected = FoldRelease(lambda private, _: ReleasedRows(private))
_nothing = FoldRelease(lambda private, _: ReleasedRows(np.full_like(private, 0.5)))


def test_every_attacker_succeeds_on_an_unprotected_release(windows: LabelledWindows, policy: Policy) -> None:
    setup = Setup(attackers=tuple(name for name in MODELS if name != CODE_TABLE), pools=(1,))
    measured = one_fold(windows, policy, setup).predictions(_unprotected)
    assert set(measured.sensitive["person"].adaptive) == set(setup.attackers)
    for name, predictions in measured.sensitive["person"].adaptive.items():
        # Three people in a row are hard on a straight line: the one in the middle has no side of its own.
        assert predictions.accuracy > (0.7 if name == "ridge" else 0.9), name


def test_what_is_released_raw_is_read_as_raw(evaluator: Evaluator) -> None:
    measured = evaluator.predictions(_unprotected)
    useful, sensitive = measured.sum_up(None)
    person, activity = sensitive["person"], useful["activity"]
    assert person.raw == person.static == person.adaptive > 0.9
    assert activity.clean == activity.app == activity.retrained > 0.8
    assert person.pooled[1] == person.adaptive == person.attackers[person.best_attacker]
    assert person.pooled_raw == person.pooled
    assert measured.error.tolist() == [0.0, 0.0]


def test_a_release_of_nothing_leaves_chance(evaluator: Evaluator) -> None:
    useful, sensitive = evaluator.predictions(_nothing).sum_up(1.0)
    assert sensitive["person"].adaptive <= sensitive["person"].chance + 1e-9
    assert useful["activity"].app <= useful["activity"].chance + 1e-9


def test_who_knows_the_code_reads_what_no_window_shows(evaluator: Evaluator) -> None:
    """Windows all alike, but a public code that names the person: only an attacker who looks it up can tell."""
    sides = {
        len(side): np.unique(side.labels["person"].astype(str), return_inverse=True)[1]
        for side in (evaluator.train, evaluator.test)
    }
    measured = evaluator.predictions(
        FoldRelease(lambda private, _: ReleasedRows(np.zeros_like(private), sides[len(private)]))
    )
    person = measured.sum_up(None)[1]["person"]
    assert (person.best_attacker, person.adaptive) == (CODE_TABLE, 1.0)
    assert person.attackers["random_forest"] <= person.chance + 1e-9


def test_under_ldp_nobody_beats_the_limit(evaluator: Evaluator) -> None:
    entropy, epsilon = SeededEntropy(0), 0.5
    noise = baseline(evaluator.train.flat.shape[1], epsilon)
    measured = evaluator.predictions(
        FoldRelease(lambda private, _: ReleasedRows(noise.privatise(private, entropy=entropy)))
    )
    useful, sensitive = measured.sum_up(epsilon)
    limit = sensitive["person"].limit
    assert limit == best_accuracy(epsilon, [1, 1, 1])
    assert sensitive["person"].adaptive_ci[0] <= limit
    assert useful["activity"].app_ci[0] <= useful["activity"].limit
    assert (measured.error > 0.3).all()


@pytest.mark.parametrize(
    ("epsilon", "bound"),
    [(1.0, True), (None, False)],
)
def test_the_limit_stands_only_where_epsilon_bounds_something(
    evaluator: Evaluator, epsilon: float | None, bound: bool
) -> None:
    useful, sensitive = evaluator.predictions(_nothing).sum_up(epsilon)
    assert (useful["activity"].limit is not None) is bound
    assert (sensitive["person"].limit is not None) is bound


def test_the_same_seed_measures_the_same(evaluator: Evaluator) -> None:
    first, second = (evaluator.predictions(_unprotected).sum_up(1.0) for _ in range(2))
    assert first == second


def test_joined_folds_are_measured_as_one(evaluator: Evaluator) -> None:
    good, bad = evaluator.predictions(_unprotected), evaluator.predictions(_nothing)
    apps = [part.useful["activity"].app.accuracy for part in (good, bad)]
    whole = FoldPredictions.join([good, bad])
    assert whole.useful["activity"].app.accuracy == pytest.approx(np.mean(apps))
    assert whole.windows == 2 * len(evaluator.test)
    assert whole.error == pytest.approx(bad.error / 2)


def test_windows_without_a_label_are_left_out(windows: LabelledWindows, policy: Policy) -> None:
    person = windows.labels["person"].copy()
    person[windows.labels["activity"] == "run"] = None
    partly = replace(windows, labels={**windows.labels, "person": person})
    evaluator = one_fold(partly, policy, Setup(attackers=("extra_trees",)))
    _, sensitive = evaluator.predictions(_unprotected).sum_up(1.0)
    assert sensitive["person"].adaptive > 0.9
    assert sensitive["person"].chance == pytest.approx(1 / 3)


def test_an_inference_without_labels_is_refused_by_name(windows: LabelledWindows, policy: Policy) -> None:
    nobody = np.full(len(windows), None, dtype=object)
    empty = replace(windows, labels={**windows.labels, "person": nobody})
    with pytest.raises(TableError, match="'person'"):
        one_fold(empty, policy, Setup())


def test_classes_that_a_split_tears_apart_are_refused(windows: LabelledWindows, policy: Policy) -> None:
    ann, bob = (windows[windows.labels["person"] == name] for name in ("ann", "bob"))
    with pytest.raises(TableError, match="both sides"):
        Evaluator.prepare(ann, bob, policy, setup=Setup())
