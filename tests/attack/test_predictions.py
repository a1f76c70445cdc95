"""Predictions beside the truth."""

import numpy as np
import pytest

from deeprotect.attack.attackers import LabelledRows
from deeprotect.attack.predictions import Predictions


def _guesses(truth: str, guess: str, *, segment: list[int] | None = None) -> Predictions:
    runs = np.array(segment or range(len(truth)), dtype=np.int64)
    return Predictions.of(np.array(list(truth), dtype=object), np.array(list(guess)), runs)


def test_accuracy_chance_and_confusion_are_those_of_the_tested_windows() -> None:
    predictions = _guesses("aaab", "aabb")
    assert (predictions.accuracy, predictions.chance) == (0.75, 0.75)
    assert predictions.classes == ("a", "b")
    assert predictions.confusion == [[2, 1], [0, 1]]
    low, high = predictions.interval
    assert low <= 0.75 <= high


def test_joining_folds_keeps_their_segments_apart_and_their_classes_right() -> None:
    whole = Predictions.join([_guesses("ab", "ab", segment=[0, 0]), _guesses("bc", "cc", segment=[0, 1])])
    assert whole.classes == ("a", "b", "c")
    assert whole.accuracy == 0.75
    assert whole.segment.tolist() == [0, 0, 1, 2]
    assert whole.confusion == [[1, 0, 0], [0, 1, 1], [0, 0, 1]]


@pytest.mark.parametrize(("guess", "expected"), [("bbba", 1.0), ("aaab", 1.0), ("aabb", 0.75), ("bbaa", 0.75)])
def test_two_labels_are_read_either_way(guess: str, expected: float) -> None:
    assert _guesses("aaab", guess).either_way().accuracy == expected


def test_more_than_two_labels_are_not_turned_round() -> None:
    wrong = _guesses("abc", "bca")
    assert wrong.either_way() is wrong


def test_a_segment_ends_with_its_recording_and_with_its_label() -> None:
    labels = np.array(["a", "a", "b", "b", "b"], dtype=object)
    rows = LabelledRows(np.zeros((5, 1)), labels, np.array([0, 0, 0, 1, 1]))
    assert rows.segment.tolist() == [0, 0, 1, 2, 2]


def test_accuracies_by_person_join_the_folds_of_each() -> None:
    texts = np.array(["a", "b", "a", "b"], dtype=object)
    guesses = np.array(["a", "b", "b", "b"], dtype=object)
    first = Predictions.of(texts, guesses, np.zeros(4, dtype=np.int64), np.array([3, 3, 7, 7]))
    second = Predictions.of(texts, texts, np.zeros(4, dtype=np.int64), np.array([7, 7, 7, 9]))
    assert first.by_person.tolist() == [1.0, 0.5]
    assert Predictions.join([first, second]).by_person.tolist() == [1.0, 0.8, 1.0]


def test_where_nobody_is_named_there_are_no_accuracies_by_person() -> None:
    texts = np.array(["a", "b"], dtype=object)
    known = Predictions.of(texts, texts, np.arange(2), np.arange(2))
    unknown = Predictions.of(texts, texts, np.arange(2))
    assert len(Predictions.join([known, unknown]).by_person) == 0
