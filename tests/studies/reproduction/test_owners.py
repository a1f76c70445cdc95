"""One person against the rest: balanced, and kept apart."""

import numpy as np
import pytest
from tests.studies.reproduction.conftest import made_up

from deeprotect.training.labelled_windows import LabelledWindows
from studies.reproduction.owners import OTHER, OWNER, EachGroupSplit, against_the_rest, choose


@pytest.fixture(scope="module")
def owned() -> LabelledWindows:
    return against_the_rest(made_up(), person="person", owners=["p1", "p4"], seed=0)


def test_owner_and_others_are_equally_many_for_each_owner(owned):
    for group in (0, 1):
        labels = owned.labels[OWNER][owned.groups == group]
        assert (labels == OWNER).sum() == (labels == OTHER).sum() == 40


def test_others_come_from_everybody_else(owned):
    others = owned.people[(owned.groups == 0) & (owned.labels[OWNER] == OTHER)]
    assert set(others.tolist()) == {0, 2, 3, 4, 5}
    assert set(owned.people[(owned.groups == 0) & (owned.labels[OWNER] == OWNER)].tolist()) == {1}


def test_neighbours_of_others_stay_together(owned):
    first = np.flatnonzero((owned.groups == 0) & (owned.labels[OWNER] == OTHER))
    alone = [
        place
        for place in first
        if not any(owned.place[other] in (owned.place[place] - 1, owned.place[place] + 1) for other in first)
    ]
    assert len(alone) <= 1  # the last run may have been cut short


def test_owners_are_chosen_by_the_seed_alone():
    windows = made_up()
    chosen = [choose(windows, person="person", count=3, seed=seed) for seed in (0, 0, 1, 2, 3)]
    assert chosen[0] == chosen[1]
    assert len({tuple(each) for each in chosen}) > 1


def test_experiments_of_different_owners_share_no_fold(owned):
    folds = EachGroupSplit(folds=4).make_folds(owned, seed=0)
    assert len(folds) == 8
    for fold in folds:
        groups = {*owned.groups[fold.train].tolist(), *owned.groups[fold.test].tolist()}
        assert len(groups) == 1
        assert not set(owned.place[fold.train].tolist()) & set(owned.place[fold.test].tolist())
    tested = np.concatenate([fold.test for fold in folds])
    assert sorted(tested.tolist()) == list(range(len(owned)))
