"""Transport modes from phones (US-TransportationMode): 9 people, accelerometer, irregular in time.

The logger wrote one event of one sensor at a time, at most 20 a second: a phone with many sensors has an accelerometer
row every 0.05 to 0.4 s. Other sensors are left out because they are incomplete: of the 9 people, 3 have no gyroscope
and a fourth has a row every 1.7 s.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from deeprotect.datasets.dataset import ACCELEROMETER_G, STANDARD_GRAVITY, Recording, triaxial
from deeprotect.errors import DatasetError
from deeprotect.signals.resampling import grid, interpolate, monotone_segments
from deeprotect.signals.schema import Floats

CHANNELS = triaxial("acc", "m/s²", ACCELEROMETER_G * STANDARD_GRAVITY)
LABELS = ("transport_mode", "person", "trip")
LOGGER_HZ = 20.0
LONGEST_GAP_S = 2.0  # a longer pause begins a new recording, because interpolation would invent data
SHORTEST_S = 2.0
SAME_START_MS = 1000
_NAME = re.compile(r"sensorfile_(.+)_(Bus|Car|Still|Train|Walking)_(\d+)\.csv")
_NUMBER = rb"(-?[\d.]+(?:E-?\d+)?)"
# A damaged line (a time such as "r2") does not match and is skipped.
_ROW = re.compile(rb"^(\d+),android\.sensor\.accelerometer," + rb",".join([_NUMBER] * 3) + rb"\s*$", re.MULTILINE)


def read(root: Path, *, rate_hz: float) -> Iterator[Recording]:
    """One recording per uninterrupted stretch, named TRIP-STRETCH, interpolated linearly between the logger's rows.

    A lower rate than the logger's averages rows. A higher rate adds rows, not information.
    """
    for path, person, mode in _files(root):
        trip = path.stem.removeprefix("sensorfile_")
        labels = {"transport_mode": mode.lower(), "person": person, "trip": trip}
        times, samples = _accelerometer(path)
        for index, piece in enumerate(monotone_segments(times, LONGEST_GAP_S)):
            if times[piece[-1]] - times[piece[0]] < SHORTEST_S:
                continue
            at = grid(times[piece[0]], times[piece[-1]], max(rate_hz, LOGGER_HZ))
            regular = interpolate(times[piece], samples[piece], at)
            recording = Recording(f"{trip}-{index}", regular, labels)
            yield recording.slower(max(rate_hz, LOGGER_HZ), rate_hz)


def _files(root: Path) -> Iterator[tuple[Path, str, str]]:
    """Files with their person and mode; a trip that was logged twice at once is used once.

    Two logs that one person started within a second share most of their rows, and would put the same moments on both
    sides of a split.
    """
    last_start: dict[tuple[str, str], int] = {}
    for path in sorted(root.glob("sensorfile_*.csv")):
        found = _NAME.fullmatch(path.name)
        if found is None:
            raise DatasetError(f"{path.name}: expected sensorfile_PERSON_MODE_TIME.csv; fetch 'tmd' again")
        person, mode, start = found[1], found[2], int(found[3])
        if start - last_start.get((person, mode), -SAME_START_MS) >= SAME_START_MS:
            yield path, person, mode
        last_start[person, mode] = start


def _accelerometer(path: Path) -> tuple[Floats, Floats]:
    rows = np.array(_ROW.findall(path.read_bytes()), dtype="S24").reshape(-1, 4).astype(np.float64)
    return rows[:, 0] / 1000, rows[:, 1:]
