"""Counts for a named promise: each labelled draw once, in the table of what it shows."""

import numpy as np
from deeprotect.privacy.channel.combinations import Combination
from deeprotect.training.codebook.calibration_counts import Counted, agreed

from deeprotect.privacy.channel.calibration import FEWEST_GIVEN

LABELS = np.array(["bob", None, "ann", "bob", "ann"], dtype=object)
CODED = np.array([0, 1, 2, 0, 1])
USEFUL = ("walk", "still")


def counted(labels, coded, *, first=None):
    return Counted("person", labels, coded, first=np.arange(len(labels)) if first is None else first, codes=3)


def test_draws_without_a_label_count_nowhere():
    secret = counted(LABELS, CODED).alone(epsilon=1.0)
    assert secret.classes == ("ann", "bob")
    assert secret.counts.tolist() == [[0, 1, 1], [2, 0, 0]]


def test_an_episode_counts_once_as_what_its_labelled_windows_agree_on():
    labels = np.array(["ann", None, "ann", "ann", "bob", None, "bob"], dtype=object)
    first = np.array([0, 3, 5])  # Ann, then a change from Ann to Bob, then Bob
    secret = counted(labels, np.array([0, 1, 2]), first=first).alone(epsilon=1.0)
    assert secret.counts.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert agreed(np.array([-1, -1, 4, 4, -1]), np.array([0, 2, 4])).tolist() == [-1, 4, -1]


def test_each_draw_is_counted_with_its_useful_class_and_none_without_one():
    many = FEWEST_GIVEN + 5
    useful = np.tile([0, 0, 0, -1, 0], many)
    tables, left_out = counted(np.tile(LABELS, many), np.tile(CODED, many)).given(useful, USEFUL, epsilon=2.0)
    assert [(table.given, table.classes) for table in tables] == [("walk", ("ann", "bob"))]
    assert tables[0].counts.tolist() == [[0, many, many], [many, 0, 0]]  # half of Bob's draws are of no useful class
    assert tables[0].epsilon == 2.0
    assert left_out == [Combination("person", "still", name, 0) for name in ("ann", "bob")]


def test_what_no_draw_shows_is_promised_nothing():
    """Eve is in no episode that agrees on her."""
    labels = np.array(["ann", "ann", "bob", "eve"], dtype=object)
    tables, left_out = counted(labels, np.array([0, 1]), first=np.array([0, 2])).given(
        np.zeros(2, int), USEFUL, epsilon=1
    )
    assert tables == []
    assert Combination("person", "walk", "eve", 0) in left_out
    assert len(left_out) == 6
