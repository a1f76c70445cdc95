"""Splits: what is learnt from and what is tested never touch."""

from dataclasses import replace

import numpy as np
import pytest

from deeprotect.attack.split_spec import KINDS, SplitSpec
from deeprotect.errors import InputError, TableError
from deeprotect.training.labelled_windows import LabelledWindows


@pytest.fixture
def grouped(windows: LabelledWindows) -> LabelledWindows:
    people = np.unique(windows.labels["person"].astype(str), return_inverse=True)[1]
    return replace(windows, group=people)


@pytest.mark.parametrize(
    ("kind", "folds"), [(kind, folds) for kind in KINDS for folds in (1, 3) if (kind, folds) != ("pieces", 3)]
)
def test_neighbouring_windows_are_never_on_both_sides(grouped: LabelledWindows, kind: str, folds: int) -> None:
    for fold in SplitSpec(kind, folds=folds).make_folds(grouped, seed=0):
        side = np.zeros(len(grouped), dtype=int)
        side[fold.train], side[fold.test] = 1, 2
        touching = (np.diff(grouped.recording) == 0) & (side[1:] * side[:-1] == 2)
        assert not touching.any()
        assert len(fold.train)
        assert len(fold.test)


def test_pieces_are_held_out_once() -> None:
    with pytest.raises(InputError, match="pieces are held out once"):
        SplitSpec("pieces", folds=3)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "pieces"])
def test_folds_test_every_window_once(grouped: LabelledWindows, kind: str) -> None:
    tested = np.concatenate([fold.test for fold in SplitSpec(kind, folds=3).make_folds(grouped, seed=0)])
    assert sorted(tested) == list(range(len(grouped)))


def test_a_group_is_on_one_side_only(grouped: LabelledWindows) -> None:
    assert grouped.group is not None
    for fold in SplitSpec("group", folds=3).make_folds(grouped, seed=1):
        assert not set(grouped.group[fold.train]) & set(grouped.group[fold.test])


def test_each_repeat_has_a_seed_of_its_own(grouped: LabelledWindows) -> None:
    every = SplitSpec("recording", repeats=3).make_folds(grouped, seed=4)
    assert [fold.seed for fold in every] == [4, 5, 6]
    assert len({tuple(fold.test) for fold in every}) > 1


def test_thinning_keeps_as_many_windows_as_asked_a_share_of_every_segment(windows: LabelledWindows) -> None:
    (whole,), (thin,) = (spec.make_folds(windows, seed=0) for spec in (SplitSpec(), SplitSpec(most=90)))
    assert abs(len(thin.train) - 90) <= 1
    assert abs(len(thin.test) - 30) <= 1
    assert set(thin.train) <= set(whole.train)
    assert set(thin.test) <= set(whole.test)
    for side in (thin.train, thin.test):
        counts = np.unique(windows.recording[side], return_counts=True)[1]
        assert len(counts) == 9
        assert np.ptp(counts) <= 1
    assert (np.diff(thin.train) == 1).sum() == len(thin.train) - 9  # neighbours stay together


@pytest.mark.parametrize("wrong", [{"kind": "moon"}, {"folds": 0}, {"repeats": 0}])
def test_a_wrong_split_is_refused(wrong: dict) -> None:
    with pytest.raises(InputError):
        SplitSpec(**wrong)


def test_more_folds_than_groups_are_refused(grouped: LabelledWindows) -> None:
    with pytest.raises(TableError, match="fewer folds"):
        SplitSpec("group", folds=4).make_folds(grouped, seed=0)


def test_strangers_enrol_with_the_first_windows_of_each_class_and_nobody_is_tested_on_those(
    grouped: LabelledWindows,
) -> None:
    for fold in SplitSpec("strangers", folds=3, enrol=4).make_folds(grouped, seed=0):
        kept = grouped[fold.enrolled]
        assert not set(fold.enrolled) & ({*fold.test} | {*fold.train})
        assert set(kept.groups) == set(grouped.groups[fold.test])
        combinations = [f"{person} {activity}" for person, activity in kept.targets(["person", "activity"])]
        assert np.unique(combinations, return_counts=True)[1].tolist() == [4] * 3
        assert kept.position is not None
        assert kept.position.max() == 3  # each class is a recording of its own here
        side = np.zeros(len(grouped), dtype=int)
        side[fold.test], side[fold.enrolled] = 1, 2
        assert not ((np.diff(grouped.recording) == 0) & (side[1:] * side[:-1] == 2)).any()


def test_only_strangers_are_enrolled() -> None:
    with pytest.raises(InputError, match="only strangers are enrolled"):
        SplitSpec("group", folds=3, enrol=4)
