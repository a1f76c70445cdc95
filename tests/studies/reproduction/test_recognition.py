"""Enrolled strangers in an evaluation: better read, and their bundles known for theirs."""

from dataclasses import replace

import numpy as np
import pytest
from tests.training.conftest import POLICY, gym

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.evaluation.evaluator import Draw, ReleasedRows, Setup
from deeprotect.evaluation.experiment import Plan, measure_rows
from deeprotect.evaluation.methods import Method, Setting
from deeprotect.policy import Policy
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import read_windows
from studies.printing import study_lines
from studies.reproduction.known_tables import StudyResult
from studies.reproduction.recognition import EnrolledRelease, Recognised, recognise, release
from studies.reproduction.study import Study

PLAIN = Setting(Method("channel", "ldp"), 5.0)
SPLIT = SplitSpec("strangers", held_out=0.5, enrol=5)


@pytest.fixture(scope="module")
def measured():
    policy = Policy.from_tables(POLICY)
    windows = read_windows(gym(people=6, seconds=20), policy, group="person")
    setup = Setup(app="extra_trees", attackers=("ridge",), pools=())
    plan = Plan([PLAIN, replace(PLAIN, enrolled=True)], setup, SPLIT)
    with plan.prepared(windows, policy) as runner:
        return measure_rows(runner, plan, release_of=release), recognise(runner, plan.settings[1])


def test_rows_with_and_without_enrolment_are_of_the_same_windows_and_say_which_they_are(measured):
    plain, enrolled = measured[0].rows
    assert (plain.enrolled, enrolled.enrolled) == (False, True)
    assert plain.useful["activity"].clean == enrolled.useful["activity"].clean
    assert len(plain.useful["activity"].by_person) == len(enrolled.useful["activity"].by_person) == 3
    assert enrolled.useful["activity"].app > 0.8


def test_every_enrolled_bundle_has_been_given_to_somebody(measured):
    known = measured[1]
    assert known.bundles == 3
    assert 0 <= known.right <= 3
    assert known.guessed == 1.0
    assert Recognised(1, 3, 1.0) + known == Recognised(1 + known.right, 6, 2.0)


def test_a_study_prints_who_is_enrolled_the_people_and_whose_bundles_were_known(measured):
    study = Study("small", "watch", 8, "activity", "person", people="person", split=SPLIT)
    found = StudyResult(study, measured[0].rows, test=measured[0].test, recognised=Recognised(2, 3, 1.0))
    lines = list(study_lines(found))
    assert ", enrolled  clean" in lines[2]
    assert "over 3 people" in lines[1]
    assert lines[3] == "  enrolled bundles: 2 of 3 given to their person (guessing 1)"
    assert found.to_json()["run"]["recognised"] == {"right": 2, "bundles": 3, "guessed": 1.0}


def test_who_has_kept_no_windows_for_it_cannot_enrol():
    policy = Policy.from_tables(POLICY)
    windows = read_windows(gym(people=3, seconds=12), policy, group="person")
    plan = Plan([replace(PLAIN, enrolled=True)], Setup(app="ridge", attackers=("ridge",), pools=()))
    with plan.prepared(windows, policy) as runner:
        found = measure_rows(runner, plan, release_of=release)
    assert not found.rows
    assert "nobody is enrolled" in found.left_out[0]


def test_people_who_are_enrolled_have_draws_of_their_own_and_windows_stay_in_their_places():
    windows = read_windows(gym(people=3, seconds=12), Policy.from_tables(POLICY), group="person")
    people = np.unique(windows.labels["person"].astype(str), return_inverse=True)[1]
    side = replace(windows, group=people)[np.random.default_rng(0).permutation(len(windows))]
    marked = {number: _marked(number) for number in (0, 2)}
    released = EnrolledRelease(_marked(1), own=marked)(side)
    assert released.windows[:, 0].tolist() == side.groups.tolist()
    assert released.code is not None
    assert released.code.tolist() == side.groups.tolist()
    assert (released.windows[:, 1:] == side.flat[:, 1:]).all()


def _marked(number: int) -> Draw:
    def draw(private: Floats, _: object) -> ReleasedRows:
        private = private.copy()
        private[:, 0] = number
        return ReleasedRows(private, np.full(len(private), number))

    return draw
