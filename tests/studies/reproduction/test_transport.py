"""Two sources in one table, kept apart."""

import numpy as np
import pyarrow as pa
import pytest

from deeprotect.attack.models import train
from deeprotect.evaluation.evaluator import labelled_rows
from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import LabelledWindows, read_windows
from studies.reproduction import transport
from studies.reproduction.size import QUICK


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
        trip=list("aabcd"),
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


def test_an_attacker_reads_digits_from_raw_presses_of_files_it_never_saw(archives):
    (experiment,) = transport.read(archives, QUICK, 0)
    right = tested = 0
    for fold in experiment.split.make_folds(experiment.windows, seed=0):
        learn, test = (labelled_rows(experiment.windows[rows], "digit") for rows in (fold.train, fold.test))
        guess = train("extra_trees", learn.rows, learn.labels, seed=0).predict(test.rows)
        right, tested = right + int((guess == test.labels).sum()), tested + len(guess)
    assert tested == 958
    assert right / tested > 0.16  # chance is 0.105; half of the presses to learn from give about 0.22
