"""Guesses beside the truth."""

import numpy as np
import pytest

from deeprotect.attack.attackers import Targets
from deeprotect.attack.predictions import Guesses


def _guesses(truth: str, guess: str, *, stretch: list[int] | None = None) -> Guesses:
    runs = np.array(stretch or range(len(truth)), dtype=np.int64)
    return Guesses.of(np.array(list(truth), dtype=object), np.array(list(guess)), runs)


def test_accuracy_chance_and_confusion_are_those_of_the_tested_windows() -> None:
    guesses = _guesses("aaab", "aabb")
    assert (guesses.accuracy, guesses.chance) == (0.75, 0.75)
    assert guesses.classes == ("a", "b")
    assert guesses.confusion == [[2, 1], [0, 1]]
    low, high = guesses.interval
    assert low <= 0.75 <= high


def test_joining_folds_keeps_their_stretches_apart_and_their_classes_right() -> None:
    whole = Guesses.join([_guesses("ab", "ab", stretch=[0, 0]), _guesses("bc", "cc", stretch=[0, 1])])
    assert whole.classes == ("a", "b", "c")
    assert whole.accuracy == 0.75
    assert whole.stretch.tolist() == [0, 0, 1, 2]
    assert whole.confusion == [[1, 0, 0], [0, 1, 1], [0, 0, 1]]


@pytest.mark.parametrize(("guess", "expected"), [("bbba", 1.0), ("aaab", 1.0), ("aabb", 0.75), ("bbaa", 0.75)])
def test_two_labels_are_read_either_way(guess: str, expected: float) -> None:
    assert _guesses("aaab", guess).either_way().accuracy == expected


def test_more_than_two_labels_are_not_turned_round() -> None:
    wrong = _guesses("abc", "bca")
    assert wrong.either_way() is wrong


def test_a_stretch_ends_with_its_recording_and_with_its_label() -> None:
    labels = np.array(["a", "a", "b", "b", "b"], dtype=object)
    targets = Targets(np.zeros((5, 1)), labels, np.array([0, 0, 0, 1, 1]))
    assert targets.stretch.tolist() == [0, 0, 1, 2, 2]
