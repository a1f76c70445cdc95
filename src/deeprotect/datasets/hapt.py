"""Human activities and postural transitions (UCI set 341): 30 people, a phone at the waist, 50 Hz."""

import re
from collections.abc import Iterator
from math import pi
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pyarrow import csv

from deeprotect.datasets.dataset import Label, Recording, triaxial
from deeprotect.errors import DatasetError
from deeprotect.signals.schema import Floats

NATIVE_HZ = 50.0
# One phone model (Samsung Galaxy S II): an accelerometer at ±2 g that counts 720 steps per g, and a 16-bit
# gyroscope at the setting of 17.5 mdps a step, so its rails are at 2^15 steps.
GYROSCOPE_STEP = 0.0175 * pi / 180
CHANNELS = (
    *triaxial("acc", "g", 2.0, resolution=1 / 720),
    *triaxial("gyro", "rad/s", 2**15 * GYROSCOPE_STEP, resolution=GYROSCOPE_STEP),
)
LABELS = ("activity", "mode", "person")
ACTIVITIES = (
    "walking",
    "upstairs",
    "downstairs",
    "sitting",
    "standing",
    "lying",
    "stand-to-sit",
    "sit-to-stand",
    "sit-to-lie",
    "lie-to-sit",
    "stand-to-lie",
    "lie-to-stand",
)  # published numbers 1 to 12
# The paper's three transport modes of case study 1; a postural transition has none of them.
MODES = ("walk", "stairs", "stairs", "still", "still", "still") + (None,) * 6


def read(root: Path, *, rate_hz: float) -> Iterator[Recording]:
    """One recording per experiment; rows outside the published segments have neither activity nor mode."""
    segments = _numbers(root / "RawData" / "labels.txt", 5).astype(np.int64)
    for path in sorted((root / "RawData").glob("acc_exp*_user*.txt")):
        experiment, user = _experiment_and_user(path)
        samples = _samples(path)
        own = segments[(segments[:, 0] == experiment) & (segments[:, 1] == user)]
        activity, mode = _row_labels(own, len(samples))
        labels: dict[str, Label] = {"activity": activity, "mode": mode, "person": f"p{user:02d}"}
        yield Recording(f"exp{experiment:02d}", samples, labels).slower(NATIVE_HZ, rate_hz)


def _experiment_and_user(path: Path) -> tuple[int, int]:
    found = re.fullmatch(r"acc_exp(\d+)_user(\d+)\.txt", path.name)
    if found is None:
        raise DatasetError(f"{path.name}: expected a name such as acc_exp01_user01.txt; fetch 'hapt' again")
    return int(found[1]), int(found[2])


def _samples(acc_path: Path) -> Floats:
    acc = _numbers(acc_path, 3)
    gyro = _numbers(acc_path.with_name(acc_path.name.replace("acc_", "gyro_")), 3)
    if len(acc) != len(gyro):
        raise DatasetError(f"{acc_path.name} and its gyro file differ in length; fetch 'hapt' again")
    return np.concatenate([acc, gyro], axis=1)


def _row_labels(segments: NDArray[np.int64], count: int) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    activity = np.full(count, None, dtype=object)
    mode = np.full(count, None, dtype=object)
    for _, _, number, first, last in segments:  # rows are published 1-based, last one included
        activity[first - 1 : last] = ACTIVITIES[number - 1]
        mode[first - 1 : last] = MODES[number - 1]
    return activity, mode


def _numbers(path: Path, columns: int) -> Floats:
    names = [str(column) for column in range(columns)]
    table = csv.read_csv(
        path,
        read_options=csv.ReadOptions(column_names=names),
        parse_options=csv.ParseOptions(delimiter=" "),
    )
    return np.stack([column.to_numpy().astype(np.float64) for column in table.columns], axis=1)
