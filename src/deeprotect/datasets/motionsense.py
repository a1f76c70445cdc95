"""MotionSense: 24 people, six activities in 15 trials, a phone in a front trouser pocket, 50 Hz."""

import re
from collections.abc import Iterator
from math import pi
from pathlib import Path

import numpy as np
from pyarrow import csv

from deeprotect.datasets.dataset import Recording, triaxial
from deeprotect.errors import DatasetError

NATIVE_HZ = 50.0
# An iPhone 6s: accelerometer at ±8 g, gyroscope at ±2,000 degrees per second. Core Motion splits acceleration into
# gravity, which is always one g, and the acceleration that the person adds.
CHANNELS = (
    *triaxial("user_acc", "g", 8.0),
    *triaxial("gravity", "g", 1.0),
    *triaxial("gyro", "rad/s", 2000 * pi / 180),
)
COLUMNS = tuple(
    f"{name}.{axis}" for name in ("userAcceleration", "gravity", "rotationRate") for axis in "xyz"
)  # as published, in the order of CHANNELS
LABELS = ("activity", "gender", "person", "trial")
ACTIVITIES = {
    "dws": "downstairs",
    "ups": "upstairs",
    "wlk": "walking",
    "jog": "jogging",
    "sit": "sitting",
    "std": "standing",
}
GENDERS = {"0": "female", "1": "male"}


def read(root: Path, *, rate_hz: float) -> Iterator[Recording]:
    """One recording for each person and trial; a trial has one activity."""
    genders = _genders(root / "data_subjects_info.csv")
    for path in sorted((root / "A_DeviceMotion_data").glob("*_*/sub_*.csv"), key=_trial_and_person):
        activity, trial, person = _place(path)
        table = csv.read_csv(path, convert_options=csv.ConvertOptions(include_columns=list(COLUMNS)))
        samples = np.stack([column.to_numpy().astype(np.float64) for column in table.columns], axis=1)
        labels = {"activity": activity, "gender": genders[person], "person": f"p{person:02d}", "trial": str(trial)}
        yield Recording(f"p{person:02d}-{activity}-{trial}", samples, labels).slower(NATIVE_HZ, rate_hz)


def _place(path: Path) -> tuple[str, int, int]:
    """The activity, the number of its trial and the person, from a path such as dws_11/sub_3.csv."""
    found = re.fullmatch(r"([a-z]+)_(\d+)/sub_(\d+)\.csv", f"{path.parent.name}/{path.name}")
    if found is None or found[1] not in ACTIVITIES:
        raise DatasetError(f"{path.parent.name}/{path.name}: expected dws_11/sub_3.csv or the like; fetch it again")
    return ACTIVITIES[found[1]], int(found[2]), int(found[3])


def _trial_and_person(path: Path) -> tuple[int, int]:
    _, trial, person = _place(path)
    return trial, person


def _genders(path: Path) -> dict[int, str]:
    """Genders by the person's number."""
    table = csv.read_csv(path)
    rows = zip(table["code"].to_pylist(), table["gender"].to_pylist(), strict=True)
    return {int(code): GENDERS[str(gender)] for code, gender in rows}
