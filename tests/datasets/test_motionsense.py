"""Motion of a phone in a pocket, on files made here in the published form."""

from pathlib import Path

import pytest

from deeprotect.datasets import motionsense
from deeprotect.errors import DatasetError

HEADER = (
    ",attitude.roll,attitude.pitch,attitude.yaw,gravity.x,gravity.y,gravity.z,"
    "rotationRate.x,rotationRate.y,rotationRate.z,userAcceleration.x,userAcceleration.y,userAcceleration.z\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "data_subjects_info.csv").write_bytes(
        b"\xef\xbb\xbfcode,weight,height,age,gender\n3,102,188,46,1\n10,50,160,30,0\n"
    )
    for trial in ("dws_11", "wlk_7"):
        folder = tmp_path / "A_DeviceMotion_data" / trial
        folder.mkdir(parents=True)
        for person in (3, 10):
            rows = (f"{row},9,9,9,{row}.1,.2,.3,4,5,6,7,8,{person}\n" for row in range(4))
            (folder / f"sub_{person}.csv").write_text(HEADER + "".join(rows))
    return tmp_path


def test_the_person_adds_to_gravity_and_attitude_is_left_out(root: Path) -> None:
    first = next(iter(motionsense.read(root, rate_hz=50.0)))
    assert first.samples[1].tolist() == [7.0, 8.0, 3.0, 1.1, 0.2, 0.3, 4.0, 5.0, 6.0]


def test_a_recording_is_one_trial_of_one_person(root: Path) -> None:
    found = [(each.name, each.labels) for each in motionsense.read(root, rate_hz=50.0)]
    assert [name for name, _ in found] == ["p03-walking-7", "p10-walking-7", "p03-downstairs-11", "p10-downstairs-11"]
    assert found[3][1] == {"activity": "downstairs", "gender": "female", "person": "p10", "trial": "11"}


def test_an_unknown_activity_is_refused(root: Path) -> None:
    (root / "A_DeviceMotion_data" / "wlk_7").rename(root / "A_DeviceMotion_data" / "fly_7")
    with pytest.raises(DatasetError, match="fly_7/sub_3"):
        list(motionsense.read(root, rate_hz=50.0))
