"""Counts for a named promise: each labelled draw once, in the table of what it shows."""

import numpy as np

from deeprotect.privacy.channel.calibration import FEWEST_GIVEN
from deeprotect.privacy.channel.combinations import Combination
from deeprotect.training.codebook.calibration_counts import classes_of, count, count_given

LABELS = np.array(["bob", None, "ann", "bob", "ann"], dtype=object)
CODED = np.array([0, 1, 2, 0, 1])


def test_draws_without_a_label_count_nowhere():
    secret = count("person", LABELS, CODED, codes=3, epsilon=1.0)
    assert secret.classes == ("ann", "bob")
    assert secret.counts.tolist() == [[0, 1, 1], [2, 0, 0]]


def given(labels, coded, useful, *, classes=("ann", "bob", "eve")):
    names = ("walk", "still")
    return count_given("person", labels, coded, classes=classes, useful=useful, given=names, codes=3, epsilon=2.0)


def test_each_draw_is_counted_with_its_useful_class_and_none_without_one():
    many = FEWEST_GIVEN + 5
    labels, coded, useful = np.tile(LABELS, many), np.tile(CODED, many), np.tile([0, 0, 0, -1, 0], many)
    tables, left_out = given(labels, coded, useful, classes=classes_of(labels))
    assert [(table.given, table.classes) for table in tables] == [("walk", ("ann", "bob"))]
    assert tables[0].counts.tolist() == [[0, many, many], [many, 0, 0]]  # half of Bob's draws are of no useful class
    assert tables[0].epsilon == 2.0
    assert left_out == [Combination("person", "still", name, 0) for name in ("ann", "bob")]


def test_what_no_draw_shows_is_promised_nothing():
    tables, left_out = given(LABELS, CODED, np.zeros(5, dtype=int))
    assert tables == []
    assert Combination("person", "walk", "eve", 0) in left_out
    assert len(left_out) == 6
