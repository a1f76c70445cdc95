"""Measurements when a protector is made: single windows, whole recordings, and unseen people."""

import numpy as np
import pytest

from deeprotect.bundle.card import measured, new_people
from deeprotect.bundle.kept import Kept
from deeprotect.bundle.manifest import Measured
from deeprotect.training.fitting.fit import fit
from deeprotect.training.fitting.trained import Attacker
from deeprotect.training.labelled_windows import LabelledWindows


def people_of(scores, *, each: int) -> tuple[LabelledWindows, np.ndarray]:
    """One recording a person; the released value leans to the right side in a little more than half of the windows."""
    truth = np.repeat(np.array(["ann", "bob"], dtype=object), each)
    samples = np.asarray(scores, dtype=float)[:, None, None]
    recording = np.repeat([0, 1], each)
    return LabelledWindows(samples, {"person": truth}, recording, 2 * each, ""), samples[:, :, 0]


def test_an_attacker_with_a_whole_recording_adds_its_windows_up():
    windows, released = people_of([0, 0, 0, 1, 1, 1, 1, 1, 0, 0], each=5)

    class Leans:
        classes_ = np.array(["ann", "bob"])

        def predict_proba(self, rows):
            return np.where(rows > 0.5, [[0.4, 0.6]], [[0.6, 0.4]])

    read = Attacker("person", Leans(), Leans()).read(windows, released)
    assert read["adaptive"] == read["raw"] == pytest.approx(0.6)
    assert (read["recording"], read["recording_raw"], read["chance"]) == (1.0, 1.0, 0.5)


def test_one_certain_mistake_is_no_veto():
    windows, released = people_of([0, 0, 0, 0, 1, 1, 1, 1, 1, 1], each=5)

    class Sure:
        classes_ = np.array(["ann", "bob"])

        def predict_proba(self, rows):
            return np.where(rows > 0.5, [[0.0, 1.0]], [[1.0, 0.0]])

    assert Attacker("person", Sure(), Sure()).read(windows, released)["recording"] == 1.0


@pytest.mark.long
def test_new_people_stand_beside_those_that_the_protector_knows(gym_table, gym_policy):
    policy = gym_policy.vary(inferences={"sensitive": []})
    bundle = fit(policy, gym_table)
    (result,) = bundle.manifest.results
    assert result.unseen.people == 1, "a fifth of five"
    assert result.unseen.useful["activity"]["app"] > 0.8
    lines = list(measured(bundle))
    assert any(
        line.startswith("“activity” of 1 new people, whom the protector has never met: app on") for line in lines
    )
    assert not any("not measured" in line for line in lines)


@pytest.mark.long
def test_a_policy_that_hides_people_says_why_new_ones_were_not_measured_and_what_measures_them(gym_table, gym_policy):
    bundle = fit(gym_policy, gym_table)
    (result,) = bundle.manifest.results
    assert result.unseen is None
    assert {"recording", "recording_raw"} <= result.sensitive["person"].keys()
    text = "\n".join(measured(bundle))
    assert "attacker with all held-out windows of a recording" in text
    assert "New people, whom the protector has never met: not measured, because it has learnt from everybody" in text
    assert "--strangers` with “person”" in text


def test_without_a_word_about_people_the_card_says_what_to_add(gym_policy):
    result = Measured(mechanism="channel", guarantee="ldp", epsilon=5.0, windows=9, useful={})
    policy = gym_policy.vary(inferences={"sensitive": []}, training={"people": None})
    (line,) = new_people(result, policy)
    assert line.endswith('the policy does not say who people are; add [training] people = "COLUMN".')


def test_a_protector_that_counted_on_new_people_does_not_say_that_there_were_too_few(gym_policy):
    result = Measured(mechanism="channel", guarantee="ldp", epsilon=5.0, windows=9, useful={})
    policy = gym_policy.vary(inferences={"sensitive": []}, training={"people": "person"})
    (few,), (earlier,) = (new_people(result, policy, kept=each) for each in (None, Kept.model_construct(of="people")))
    assert few.endswith("not measured, because there were too few people to keep some of them aside.")
    assert earlier.endswith("not measured, because it was made before training measured that; train again.")
