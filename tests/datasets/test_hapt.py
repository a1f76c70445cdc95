"""Activities at the waist, on files made here in the published form."""

from pathlib import Path

import numpy as np
import pytest

from deeprotect.datasets import hapt
from deeprotect.errors import DatasetError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    raw = tmp_path / "RawData"
    raw.mkdir()
    np.savetxt(raw / "acc_exp01_user07.txt", np.arange(30.0).reshape(10, 3))
    np.savetxt(raw / "gyro_exp01_user07.txt", -np.arange(30.0).reshape(10, 3))
    (raw / "labels.txt").write_text("1 7 2 2 4\n1 7 7 5 6\n1 7 6 7 9\n2 7 1 1 10\n")
    return tmp_path


def test_published_rows_count_from_one_and_include_the_last(root: Path) -> None:
    (recording,) = hapt.read(root, rate_hz=50.0)
    assert list(recording.labels["activity"]) == (
        [None] + ["upstairs"] * 3 + ["stand-to-sit"] * 2 + ["lying"] * 3 + [None]
    )


def test_a_transition_has_an_activity_but_no_mode(root: Path) -> None:
    (recording,) = hapt.read(root, rate_hz=50.0)
    assert list(recording.labels["mode"]) == [None] + ["stairs"] * 3 + [None] * 2 + ["still"] * 3 + [None]
    assert recording.labels["person"] == "p07"


def test_acceleration_and_rotation_stand_side_by_side(root: Path) -> None:
    (recording,) = hapt.read(root, rate_hz=50.0)
    assert recording.samples[1].tolist() == [3.0, 4.0, 5.0, -3.0, -4.0, -5.0]


def test_sensor_files_of_different_length_are_refused(root: Path) -> None:
    np.savetxt(root / "RawData" / "gyro_exp01_user07.txt", np.zeros((9, 3)))
    with pytest.raises(DatasetError, match="differ in length"):
        list(hapt.read(root, rate_hz=50.0))
