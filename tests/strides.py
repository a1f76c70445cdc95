"""A small table whose useful inference is a number: how many strides a minute a made-up sensor shows."""

import numpy as np
import pyarrow as pa
from tests.conftest import POLICY

from deeprotect.policy import Policy

WIDTH = 120
RULES = Policy.from_toml(POLICY).vary(
    stream={"window": 20},
    inferences={"useful": ["cadence"], "numeric": {"cadence": {"unit": "1/min", "range": (60, 180), "levels": 6}}},
    privacy={"mechanism": "channel", "epsilon": 4.0},
)


def strides(*, seed: int = 0) -> pa.Table:
    """Ten recordings; each window of two seconds swings at a rate of its own, which drifts from one to the next."""
    random, parts = np.random.default_rng(seed), []
    for recording in range(10):
        cadence = np.clip(110 + np.cumsum(random.normal(0, 18, size=50)), 55, 190)
        phase = np.cumsum(np.repeat(cadence, 20)) / 60 / 10 * 2 * np.pi
        shape = np.stack([np.sin(phase), np.cos(phase)]) + random.normal(0, 0.1, size=(2, 1000))
        parts.append((shape, np.repeat(cadence, 20), np.full(1000, f"r{recording}")))
    (acc_x, acc_y), cadence, recording = (np.concatenate(each, axis=-1) for each in zip(*parts, strict=True))
    return pa.table({"acc_x": acc_x, "acc_y": acc_y, "cadence": cadence, "recording": recording})
