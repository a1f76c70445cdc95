"""Calibration recordings: chosen by labels alone, never learnt from, each one row of shares."""

from dataclasses import replace

import numpy as np
import pytest

from deeprotect.bundle.network import Network
from deeprotect.signals import Hold
from deeprotect.training.codebook import coder_training
from deeprotect.training.codebook.calibration_recordings import CalibrationDraws, agreed, calibrating
from deeprotect.training.codebook.codebook import read_targets
from deeprotect.training.codebook.coder_training import fit_apart
from deeprotect.training.labelled_windows import LabelledWindows

USEFUL = ("walk", "still")


def windows(people, recording, position=None):
    count = len(people)
    samples, labels = np.zeros((count, 1, 1)), {"person": np.array(people, dtype=object)}
    place = np.arange(count) if position is None else np.array(position)
    return LabelledWindows(samples, labels, np.array(recording), count, "", position=place)


def shares(found, coded, *, hold=None, **given):
    draws = CalibrationDraws.of(found, np.array(coded), hold=hold or Hold(), codes=3)
    return draws.shares("person", ["ann", "bob", "eve"], epsilon=2.0, **given)


def test_a_recording_is_one_row_of_shares_however_many_windows_it_has():
    found = shares(windows(["ann"] * 5 + ["bob"] * 2, [0, 0, 0, 0, 1, 2, 2]), [0, 0, 0, 1, 2, 1, 2])
    ann, bob, eve = found.shares[0]
    assert ann.tolist() == [[0.75, 0.25, 0.0], [0.0, 0.0, 1.0]]
    assert bob.tolist() == [[0.0, 0.5, 0.5]]
    assert eve.shape == (0, 3)
    assert (found.classes, found.given, found.epsilon) == (("ann", "bob", "eve"), ("",), 2.0)


def test_a_recording_of_several_classes_is_a_row_of_each_and_unlabelled_draws_count_nowhere():
    ann, bob, _ = shares(windows(["ann", "bob", None, "bob"], [7, 7, 7, 7]), [0, 1, 2, 1]).shares[0]
    assert (ann.tolist(), bob.tolist()) == ([[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])


def test_an_episode_counts_once_as_what_its_labelled_windows_agree_on():
    people = ["ann", None, "ann", "ann", "bob", "bob"]  # Ann, then a change from Ann to Bob, then Bob
    found = windows(people, [0] * 6, position=[0, 1, 2, 3, 4, 5])
    ann, bob, _ = shares(found, [0, 0, 1, 1, 2, 2], hold=Hold(2, 2)).shares[0]
    assert ann.tolist() == [[0.5, 0.5, 0.0]]
    assert bob.tolist() == [[0.0, 0.0, 1.0]]
    assert agreed(np.array([-1, -1, 4, 4, -1]), np.array([0, 2, 4])).tolist() == [-1, 4, -1]


def test_each_draw_is_counted_with_its_useful_class_and_none_without_one():
    found = shares(windows(["ann"] * 4, [0] * 4), [0, 1, 2, 2], useful=np.array([0, 1, -1, 1]), names=USEFUL)
    assert [[cell.tolist() for cell in cells] for cells in found.shares] == [
        [[[1.0, 0.0, 0.0]], [], []],
        [[[0.0, 0.5, 0.5]], [], []],
    ]


def test_without_a_calibration_recording_there_are_no_shares():
    assert [len(cell) for cell in shares(windows([], []), np.empty(0, dtype=int)).shares[0]] == [0, 0, 0]


def test_half_of_the_recordings_of_each_combination_calibrate_and_the_rest_show_every_useful_class(short_recordings):
    found = short_recordings(2)
    chosen = calibrating(found, ("activity",), seed=3)
    recordings = np.unique(found.recording)
    sides = np.array([set(chosen[found.recording == each]) for each in recordings])
    assert all(len(side) == 1 for side in sides)  # a recording is on one side
    for person in found.classes("person"):
        for activity in found.classes("activity"):
            here = (found.labels["person"] == person) & (found.labels["activity"] == activity)
            counts = [len(np.unique(found.recording[here & (chosen == side)])) for side in (True, False)]
            assert abs(counts[0] - counts[1]) <= 1
    one = replace(found, recording=np.zeros(len(found), dtype=np.int64))
    assert not calibrating(one, ("activity",), seed=0).any()


def test_which_recordings_calibrate_depends_on_labels_and_the_seed_alone(short_recordings):
    found = short_recordings(2)
    other = replace(found, samples=np.random.default_rng(0).random(found.samples.shape))
    assert (calibrating(found, ("activity",), seed=1) == calibrating(other, ("activity",), seed=1)).all()
    assert (calibrating(found, ("activity",), seed=1) != calibrating(found, ("activity",), seed=2)).any()


def test_every_useful_class_is_learnt_even_if_it_has_one_recording(short_recordings):
    found = short_recordings(2)
    labels = np.where(found.recording == 5, "rare", found.labels["activity"])
    rare = replace(found, labels={**found.labels, "activity": labels.astype(object)})
    for seed in range(8):
        assert not calibrating(rare, ("activity",), seed=seed)[found.recording == 5].any()


def test_the_coder_that_is_shipped_learns_from_no_calibration_recording_and_scores_them_itself(
    monkeypatch, short_recordings, gym_policy
):
    found = short_recordings(2)
    chosen, learnt = calibrating(found, ("activity",), seed=0), []

    def fitted(data, rows, **_):
        learnt.append(rows)
        return Network((), data.windows.shape[1])

    monkeypatch.setattr(coder_training, "_fitted", fitted)
    targets, _ = read_targets(found, gym_policy)
    coder, scores = fit_apart(found, targets, gym_policy, calibrating=chosen)
    assert len(learnt) == 1
    assert not (learnt[0] & chosen).any()
    assert (scores == coder(found.flat[chosen])).all()


@pytest.mark.parametrize("field", ["recording", "position"])
def test_recordings_are_as_they_were_cut(short_recordings, field):
    assert len(getattr(short_recordings(2), field)) == len(short_recordings(2))
