"""Case studies: windows drawn fairly, sources kept apart, owners balanced, sizes that shrink."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.errors import DatasetError, InputError
from deeprotect.policy import Policy
from deeprotect.reproduction import speech, transport
from deeprotect.reproduction.case import open_data
from deeprotect.reproduction.owners import OTHER, OWNER, EachGroupSplit, against_the_rest, choose
from deeprotect.reproduction.size import FULL, QUICK
from deeprotect.reproduction.subsampling import RUN, spread
from deeprotect.training.dataset import LabelledWindows, read_windows


def made_up(people: int = 6, per_person: int = 40) -> LabelledWindows:
    """Windows in two recordings for each person, who does one thing in each."""
    count = people * per_person
    person = np.repeat(np.arange(people), per_person)
    half = np.arange(count) % per_person * 2 // per_person
    labels = {
        "person": np.array([f"p{number}" for number in person], dtype=object),
        "mode": np.array(["walk" if each else "still" for each in half], dtype=object),
    }
    samples = np.random.default_rng(0).random((count, 2, 3))
    return LabelledWindows(samples, labels, 2 * person + half, count, "", person, np.arange(count))


@given(count=st.integers(1, 260), seed=st.integers(0, 5))
def test_windows_are_drawn_in_runs_of_neighbours_and_evenly(count, seed):
    windows = made_up()
    every = np.arange(len(windows))
    drawn = spread(windows, every, windows.people, count=count, seed=seed)
    assert len(drawn) == min(count, len(windows))
    assert len(set(drawn.tolist())) == len(drawn)
    per_person = np.bincount(windows.people[drawn], minlength=6)
    assert per_person.max() - per_person.min() <= RUN
    borders = (np.diff(drawn) != 1) | (np.diff(windows.recording[drawn]) != 0)
    assert borders.sum() + 1 <= -(-count // RUN) + 6  # whole runs, but for the last and the ends of recordings


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


def sources() -> tuple[pa.Table, pa.Table]:
    """Three trips, one cut in two and one by bus; two files of presses; both sources call a recording `a-0`."""
    rng = np.random.default_rng(0)

    def table(names: list[str], rows: int, **labels: list[str]) -> pa.Table:
        axes = {axis: rng.normal(0, 1, rows * len(names)) for axis in ("acc_x", "acc_y", "acc_z")}
        return pa.table(
            {"recording": np.repeat(names, rows), **axes}
            | {name: np.repeat(values, rows) for name, values in labels.items()}
        )

    trips = table(
        ["a-0", "a-1", "b-0", "c-0", "d-0"],
        250,
        transport_mode=["car", "car", "train", "walking", "bus"],
        person=["x"] * 5,
    )
    return trips, table(["a-0", "a-1", "e-0"], 50, digit=["1", "2", "1"], file=["a", "a", "e"])


@pytest.fixture(scope="module")
def stacked() -> LabelledWindows:
    axes = {name: {"unit": "m/s²", "range": [-40.0, 40.0]} for name in ("acc_x", "acc_y", "acc_z")}
    policy = Policy.from_tables(
        {
            "version": 1,
            "stream": {"rate_hz": 50.0, "window": 50, "channels": axes},
            "inferences": {"useful": ["transport"], "sensitive": ["digit"]},
            "privacy": {"epsilon": 5.0},
        }
    )
    return read_windows(transport.stack(*sources()), policy, group=transport.TRIP)


def test_stacking_keeps_labels_apart(stacked):
    transport, digit = stacked.labelled("transport"), stacked.labelled("digit")
    assert transport.sum() == 4 * 5
    assert digit.sum() == 3
    assert not (transport & digit).any()
    assert "bus" not in set(stacked.labels["transport"])


def test_no_window_recording_or_trip_is_of_two_sources(stacked):
    assert (stacked.labelled("transport") | stacked.labelled("digit")).all()  # a window of both would have no label
    for numbers in (stacked.recording, stacked.groups):
        for number in np.unique(numbers):
            assert len(set(stacked.labelled("digit")[numbers == number].tolist())) == 1


def test_pieces_of_one_trip_and_presses_of_one_file_stay_together(stacked):
    cars = stacked.labels["transport"] == "car"
    assert len(np.unique(stacked.recording[cars])) == 2
    assert len(np.unique(stacked.groups[cars])) == 1
    assert len(np.unique(stacked.groups[stacked.labelled("digit")])) == 2


def test_every_press_is_kept_and_each_mode_equally_often(stacked):
    some = transport.some(stacked, count=9, seed=0)
    assert some.labelled("digit").sum() == 3
    assert [(some.labels["transport"] == mode).sum() for mode in transport.MODES] == [3, 3, 3]


def test_an_utterance_is_one_window():
    windows = made_up()
    assert speech.utterances(windows).recording.tolist() == sorted(set(windows.recording.tolist()))


def test_the_quick_plan_is_smaller_in_everything():
    assert QUICK.owners <= FULL.owners
    for name in ("folds", "epochs", "windows", "transport", "utterances", "steps", "voices"):
        assert getattr(QUICK, name) < getattr(FULL, name)
    assert set(QUICK.epsilons) < set(FULL.epsilons)
    assert set(QUICK.features) < set(FULL.features)
    assert FULL.with_folds(None) == FULL
    assert FULL.with_folds(3) == replace(FULL, folds=3)


def test_a_source_that_is_no_folder_is_wrong_input(tmp_path: Path):
    with pytest.raises(InputError, match="is not a folder"):
        open_data("hapt", tmp_path / "nowhere")


def test_missing_data_say_how_to_get_them(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("deeprotect.datasets.fetching.default_cache", lambda: tmp_path / "cache")
    with pytest.raises(DatasetError, match="deeprotect datasets fetch fsdd"):
        speech.read(tmp_path, QUICK, 0)
