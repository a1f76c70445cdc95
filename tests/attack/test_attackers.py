"""Attackers, pooling, and what can be guessed without any window."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from deeprotect.attack.attackers import LabelledRows, attack, best, guess_from_useful, pool, reread
from deeprotect.attack.models import MODELS, TrainedModel, train
from deeprotect.attack.predictions import Predictions
from deeprotect.evaluation.evaluator import CODE_TABLE

CLASSES = np.array(["a", "b", "c"])
ON_WINDOWS = [name for name in MODELS if name != CODE_TABLE]


def _targets(count: int, *, noise: float, seed: int, classes: int = 3) -> LabelledRows:
    """Recordings of 8 windows, one class each."""
    rng = np.random.default_rng(seed)
    recording = np.repeat(np.arange(count // 8), 8)
    numbers = (recording % classes).astype(int)
    windows = np.eye(3)[numbers] + rng.normal(0, noise, (len(numbers), 3))
    return LabelledRows(windows, CLASSES[numbers].astype(object), recording)


def _attack(
    name: str, learn: LabelledRows, test: LabelledRows, *, pools: tuple[int, ...] = ()
) -> tuple[Predictions, dict]:
    return attack(train(name, learn.rows, learn.labels, seed=0), test, pools=pools)


def _labels(*values: str | None) -> np.ndarray:
    return np.array(values, dtype=object)


@pytest.mark.long
@pytest.mark.parametrize("name", ON_WINDOWS)
def test_each_attacker_succeeds_on_an_unprotected_release(name: str) -> None:
    learn, test = _targets(240, noise=0.1, seed=0), _targets(240, noise=0.1, seed=1)
    assert _attack(name, learn, test)[0].accuracy > 0.95


def test_who_knows_the_code_book_succeeds_on_codes_that_tell() -> None:
    learn, test = (_targets(240, noise=0.1, seed=seed) for seed in (0, 1))
    learn, test = (side.with_rows(side.rows.argmax(axis=1)[:, None].astype(float)) for side in (learn, test))
    assert _attack(CODE_TABLE, learn, test)[0].accuracy > 0.95


def test_a_disguise_hides_nothing_from_a_retrained_attacker() -> None:
    learn, test = _targets(240, noise=0.1, seed=0), _targets(240, noise=0.1, seed=1)
    disguised = [side.with_rows(np.roll(side.rows, 1, axis=1)) for side in (learn, test)]
    assert (
        disguised[1].predictions(train("ridge", learn.rows, learn.labels, seed=0).predict(disguised[1].rows)).accuracy
        < 0.1
    )
    assert _attack("ridge", *disguised)[0].accuracy > 0.95


def test_a_static_attacker_that_looks_at_known_releases_reads_its_guesses_anew() -> None:
    learn, test = _targets(240, noise=0.1, seed=0), _targets(240, noise=0.1, seed=1)
    static = train("ridge", learn.rows, learn.labels, seed=0)
    disguised = [side.with_rows(np.roll(side.rows, 1, axis=1)) for side in (learn, test)]
    assert reread(static, *disguised).accuracy > 0.95
    assert reread(static, learn, test).guess.tolist() == test.predictions(static.predict(test.rows)).guess.tolist()


def test_of_two_labels_an_attacker_that_is_mostly_wrong_is_mostly_right() -> None:
    learn, test = (_targets(160, noise=0.1, seed=seed, classes=2) for seed in (0, 1))
    flipped = test.with_rows(test.rows[:, [1, 0, 2]])
    assert attack(train("ridge", learn.rows, learn.labels, seed=0), flipped)[0].accuracy > 0.95


def test_the_best_of_several_attackers_counts() -> None:
    learn, test = _targets(240, noise=0.5, seed=0), _targets(240, noise=0.5, seed=1)
    predictions = {name: _attack(name, learn, test)[0] for name in ("ridge", "random_forest", "extra_trees")}
    assert predictions[best(predictions)].accuracy == max(each.accuracy for each in predictions.values())


@pytest.mark.long
@pytest.mark.parametrize("name", ON_WINDOWS)
def test_pooling_windows_of_one_recording_helps_the_attacker(name: str) -> None:
    learn, test = _targets(960, noise=1.0, seed=0), _targets(960, noise=1.0, seed=1)
    single, pooled = _attack(name, learn, test, pools=(1, 8))
    assert pooled[1].accuracy == single.accuracy
    assert pooled[8].accuracy > single.accuracy + 0.12


def _oracle(*, log_prior: tuple[float, ...] = (0.0, 0.0)) -> TrainedModel:
    return TrainedModel("oracle", np.array(["a", "b"]), DummyClassifier(), np.array(log_prior))


def test_a_pool_never_crosses_a_recording_or_a_change_of_label() -> None:
    labels = _labels("a", "a", "a", "b", "b", "a", "a")
    test = LabelledRows(np.zeros((7, 1)), labels, np.array([0, 0, 0, 0, 1, 1, 2]))
    scores = np.array([[1.0, 0.0] if label == "a" else [0.0, 1.0] for label in labels])
    # aa|a|b|b|a|a
    two, three = (pool(_oracle(), scores, test, size=size) for size in (2, 3))
    assert (len(two), len(three)) == (6, 5)
    assert two.accuracy == three.accuracy == 1.0


def test_a_pool_counts_the_prior_once() -> None:
    """Each window favours b two to one, against a prior of nine to one: seven of them should win."""
    prior = np.log([0.9, 0.1])
    posterior = np.log([0.9 / 3, 0.2 / 3]) - np.log(1.1 / 3)
    test = LabelledRows(np.zeros((7, 1)), _labels(*"bbbbbbb"), np.zeros(7, dtype=np.int64))
    oracle = _oracle(log_prior=tuple(prior))
    assert pool(oracle, np.tile(posterior, (7, 1)), test, size=7).accuracy == 1.0
    assert pool(oracle, np.tile(posterior, (7, 1)), test, size=1).accuracy == 0.0


def test_useful_labels_that_determine_the_sensitive_one_cannot_be_hidden() -> None:
    useful, sensitive = _labels("run", "sit", "run", "sit")[:, None], _labels("ann", "bob", "ann", "bob")
    assert guess_from_useful(useful, sensitive, test_useful=useful[:2]).tolist() == ["ann", "bob"]


def test_useful_labels_that_say_nothing_leave_the_most_common_label() -> None:
    useful, sensitive = _labels("run", "run", "run")[:, None], _labels("ann", "ann", "bob")
    unseen = _labels("sit", "run", None)[:, None]
    assert guess_from_useful(useful, sensitive, test_useful=unseen).tolist() == ["ann", "ann", "ann"]
