"""Everybody is the owner in turn."""

from dataclasses import replace

import numpy as np
import pytest
from tests.training.conftest import POLICY, gym

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.evaluation.evaluator import Setup
from deeprotect.evaluation.experiment import Plan
from deeprotect.evaluation.methods import Method, Setting
from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import read_windows
from studies.reproduction.all_owners import _balanced, measure_owners


@pytest.fixture(scope="module")
def asked():
    return Policy.from_tables(POLICY).vary(
        inferences={"useful": ["person"], "sensitive": ["activity"]}, privacy={"guarantee": "ldp"}
    )


@pytest.fixture(scope="module")
def windows(asked):
    return read_windows(gym(people=4, seconds=40), asked, group="person")


@pytest.fixture(scope="module")
def found(windows, asked):
    each = Setting(Method("channel", "ldp"), 5.0)
    setup = Setup(app="extra_trees", attackers=("ridge", "naive_bayes"), pools=())
    plan = Plan([each, replace(each, every="2.4 s")], setup, SplitSpec("pieces"))
    return measure_owners(windows, asked, plan, person="person")


@pytest.mark.long
def test_each_row_has_the_accuracy_of_every_owner_and_an_interval_over_them(found):
    assert not found.left_out
    for row in found.rows:
        owner = row.useful["owner"]
        assert len(owner.by_person) == 4
        assert owner.people_ci is not None
        assert owner.people_ci[0] <= np.mean(owner.by_person) <= owner.people_ci[1]
        assert owner.chance == pytest.approx(0.5, abs=0.05)


def test_owners_are_known_by_a_coder_that_learnt_from_everybody(found):
    assert found.rows[1].useful["owner"].app > 0.8
    assert found.rows[1].useful["owner"].held is not None


def test_attackers_on_what_is_done_are_retrained_and_the_best_counts(found):
    attack = found.rows[1].sensitive["activity"]
    assert set(attack.attackers) == {"ridge", "naive_bayes", "code_table"}
    assert attack.adaptive == max(attack.attackers.values())


def test_a_test_of_an_owner_is_balanced_and_known_by_their_number(windows):
    drawn = _balanced(windows, "p2", "person", seed=0)
    labels, counts = np.unique(drawn.labels["owner"].astype(str), return_counts=True)
    assert labels.tolist() == ["other", "owner"]
    assert counts[0] == counts[1]
    assert set(drawn.groups.tolist()) == {2}
