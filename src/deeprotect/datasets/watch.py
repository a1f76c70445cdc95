"""The wrist data in the seglearn wheel: shoulder exercises, 10 people, 50 Hz."""

import hashlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from deeprotect.datasets.dataset import ACCELEROMETER_G, GYROSCOPE_RAD_S, Recording, triaxial
from deeprotect.errors import DatasetError

NATIVE_HZ = 50.0
# The file states six decimals.
CHANNELS = (
    *triaxial("acc", "g", ACCELEROMETER_G, resolution=1e-6),
    *triaxial("gyro", "rad/s", GYROSCOPE_RAD_S, resolution=1e-6),
)
LABELS = ("exercise", "person", "side")
SIZE = 18_118_091
SHA256 = "eb122f23cdf06ef6bd6c6c5312958ec5cf9d038e2e6d457b8081662c75a42537"
GET_IT = "install the package that carries it: pip install seglearn==1.2.5"


def folder() -> Path:
    """The folder of the data in the installed wheel; seglearn is never imported, because it needs more packages."""
    spec = find_spec("seglearn")
    if spec is None or spec.origin is None:
        raise DatasetError(f"data set 'watch' is not here; {GET_IT}")
    return Path(spec.origin).parent / "data"


def read(root: Path, *, rate_hz: float) -> Iterator[Recording]:
    """One recording per person, exercise and side (1 = right, 0 = left, as published).

    Recordings are numbered, because names may pass through a release and would reveal labels.
    """
    data = _verified(root / "watch_dataset.npy")
    rows = zip(data["X"], data["y"], data["subject"], data["side"], strict=True)
    for number, (samples, exercise, subject, side) in enumerate(rows):
        labels = {
            "exercise": str(data["y_labels"][exercise]),
            "person": f"p{subject:02d}",
            "side": "right" if side else "left",
        }
        yield Recording(f"r{number:03d}", samples, labels).slower(NATIVE_HZ, rate_hz)


def _verified(path: Path) -> dict[str, Any]:
    """Unpickle only the known file: a pickle can run code."""
    content = path.read_bytes() if path.is_file() else b""
    if len(content) != SIZE or hashlib.sha256(content).hexdigest() != SHA256:
        raise DatasetError(f"{path.name} is not the published file; {GET_IT}")
    data: dict[str, Any] = np.load(path, allow_pickle=True).item()
    return data
