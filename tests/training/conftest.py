"""A small labelled table on which everything can be learnt in a second or two."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import read_windows, segment_numbers

POLICY = {
    "version": 1,
    "stream": {
        "rate_hz": 10,
        "window": 8,
        "channels": {"acc_x": {"unit": "g", "range": [-4.0, 4.0]}, "acc_y": {"unit": "g", "range": [-4.0, 4.0]}},
    },
    "inferences": {"useful": ["activity"], "sensitive": ["person"]},
    "privacy": {"epsilon": 5.0, "mechanism": "channel"},
    "training": {"features": 3, "people": "person", "max_epochs": 15},
}
SPEED = {"still": 0.0, "walk": 0.9, "run": 2.2}


def gym(*, people: int = 5, seconds: int = 24) -> pa.Table:
    """Each person stands, walks and runs, with a tilt of their own."""
    random = np.random.default_rng(0)
    parts = []
    for person in range(people):
        for activity, speed in SPEED.items():
            rows = seconds * 10
            phase = np.arange(rows) * speed + random.uniform(0, 6)
            noise = random.normal(0, 0.1, (2, rows))
            parts.append(
                {
                    "acc_x": (speed > 0) * np.sin(phase) + 0.2 * person + noise[0],
                    "acc_y": speed * np.cos(phase) - 0.1 * person + noise[1],
                    "activity": np.full(rows, activity),
                    "person": np.full(rows, f"p{person}"),
                    "recording": np.full(rows, f"{person}-{activity}"),
                }
            )
    return pa.table({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


@pytest.fixture(scope="session")
def gym_table():
    return gym()


@pytest.fixture(scope="session")
def gym_policy():
    return Policy.from_tables(POLICY)


@pytest.fixture(scope="session")
def gym_windows(gym_table, gym_policy):
    return read_windows(gym_table, gym_policy)


@pytest.fixture(scope="session")
def short_recordings(gym_windows):
    """`short_recordings(windows)`: the same windows, as recordings of so many each."""

    def cut(windows):
        position = gym_windows.position
        recording = segment_numbers(gym_windows.recording, position // windows)
        return replace(gym_windows, recording=recording, position=position % windows)

    return cut
