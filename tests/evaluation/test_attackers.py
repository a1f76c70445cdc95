"""Attackers, pooling, and what can be guessed without any window."""

import numpy as np
import pytest

from deeprotect.evaluation.attackers import Targets, adaptive, best, from_useful, majority, pool
from deeprotect.evaluation.models import MODELS, Trained, train

CLASSES = np.array(["a", "b", "c"])


def _targets(count: int, *, noise: float, seed: int) -> Targets:
    """Recordings of 8 windows, one class each."""
    rng = np.random.default_rng(seed)
    recording = np.repeat(np.arange(count // 8), 8)
    numbers = (recording % 3).astype(int)
    windows = np.eye(3)[numbers] + rng.normal(0, noise, (len(numbers), 3))
    return Targets(windows, CLASSES[numbers].astype(object), recording)


def _labels(*values: str | None) -> np.ndarray:
    return np.array(values, dtype=object)


@pytest.mark.parametrize("name", MODELS)
def test_each_attacker_succeeds_on_an_unprotected_release(name: str) -> None:
    learn, test = _targets(240, noise=0.1, seed=0), _targets(240, noise=0.1, seed=1)
    assert adaptive(learn, test, models=[name], pools=(), seed=0).accuracy > 0.95


def test_only_the_adaptive_attacker_reads_a_release_that_merely_disguises() -> None:
    learn, test = _targets(240, noise=0.1, seed=0), _targets(240, noise=0.1, seed=1)
    static = [train("ridge", learn.windows, learn.labels, seed=0)]

    def disguise(targets: Targets) -> Targets:
        return targets.released(1 - targets.windows)

    assert best(static, disguise(test)).accuracy < 0.6
    assert adaptive(disguise(learn), disguise(test), models=["ridge"], pools=(), seed=0).accuracy > 0.95


def test_the_best_of_several_attackers_counts() -> None:
    learn, test = _targets(240, noise=0.5, seed=0), _targets(240, noise=0.5, seed=1)
    alone = [adaptive(learn, test, models=[name], pools=(4,), seed=0) for name in MODELS]
    together = adaptive(learn, test, models=list(MODELS), pools=(4,), seed=0)
    assert together.accuracy == max(attack.accuracy for attack in alone)
    assert together.attacker in {attack.attacker for attack in alone if attack.accuracy == together.accuracy}
    assert together.pooled[4] == max(attack.pooled[4] for attack in alone)
    assert together.interval[0] <= together.accuracy <= together.interval[1]


@pytest.mark.parametrize("name", MODELS)
def test_pooling_windows_of_one_recording_helps_the_attacker(name: str) -> None:
    learn, test = _targets(960, noise=1.0, seed=0), _targets(960, noise=1.0, seed=1)
    attack = adaptive(learn, test, models=[name], pools=(1, 8), seed=0)
    assert attack.pooled[1] == attack.accuracy
    assert attack.pooled[8] > attack.accuracy + 0.15


def test_a_pool_never_crosses_a_recording_or_a_change_of_label() -> None:
    labels = _labels("a", "a", "a", "b", "b", "a", "a")
    test = Targets(np.zeros((7, 1)), labels, np.array([0, 0, 0, 0, 1, 1, 2]))
    oracle = Trained("oracle", np.array(["a", "b"]), None)
    scores = np.array([[1.0, 0.0] if label == "a" else [0.0, 1.0] for label in labels])
    # aa|a|b|b|a|a
    assert pool(oracle, scores, test, size=2) == (6, 6)
    assert pool(oracle, scores, test, size=3) == (5, 5)


def test_chance_is_the_share_of_the_most_common_label() -> None:
    assert majority(_labels("a", "b", "a", "c")) == 0.5


def test_useful_labels_that_determine_the_sensitive_one_cannot_be_hidden() -> None:
    useful, sensitive = _labels("run", "sit", "run", "sit")[:, None], _labels("ann", "bob", "ann", "bob")
    assert from_useful(useful, sensitive, test_useful=useful[:2], test_sensitive=sensitive[:2]) == 1.0


def test_useful_labels_that_say_nothing_leave_chance() -> None:
    useful, sensitive = _labels("run", "run", "run")[:, None], _labels("ann", "ann", "bob")
    unseen = _labels("sit", "run", "run")[:, None]
    assert from_useful(useful, sensitive, test_useful=unseen, test_sensitive=sensitive) == pytest.approx(2 / 3)
