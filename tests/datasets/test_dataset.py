"""The tidy table, from recordings made here."""

import numpy as np
import pytest

from deeprotect.datasets.dataset import Recording, tidy
from deeprotect.errors import DatasetError
from deeprotect.signals import Channel

CHANNELS = (Channel("a", "g", -1.0, 1.0), Channel("b", "g", -1.0, 1.0))


def test_a_label_may_be_missing_for_some_rows_or_for_a_whole_recording() -> None:
    by_row = np.array(["walk", None, "walk"], dtype=object)
    recordings = [Recording("r1", np.zeros((3, 2)), {"y": by_row}), Recording("r2", np.ones((2, 2)), {"y": None})]
    table = tidy(recordings, CHANNELS, labels=("y",), rate_hz=4.0)
    assert table["y"].to_pylist() == ["walk", None, "walk", None, None]
    assert table["recording"].to_pylist() == ["r1"] * 3 + ["r2"] * 2
    assert table["time"].to_pylist() == [0.0, 0.25, 0.5, 0.0, 0.25]


def test_an_empty_recording_leaves_no_row() -> None:
    table = tidy([Recording("r", np.zeros((0, 2)), {})], CHANNELS, labels=(), rate_hz=1.0)
    assert table.num_rows == 0
    assert table.column_names == ["recording", "time", "a", "b"]


def test_a_slower_recording_takes_its_labels_from_the_middle_of_each_cell() -> None:
    labels = np.array(["x", "x", "y", "y", "y", "y", "z"], dtype=object)
    recording = Recording("r", np.arange(14.0).reshape(7, 2), {"y": labels, "p": "p1"}).slower(30, 10)
    assert recording.samples.tolist() == [[2.0, 3.0], [8.0, 9.0]]
    assert list(recording.labels["y"]) == ["x", "y"]
    assert recording.labels["p"] == "p1"


def test_a_rate_above_the_recorded_one_is_refused() -> None:
    with pytest.raises(DatasetError, match="choose a lower one"):
        Recording("r", np.zeros((3, 2)), {}).slower(50, 100)
