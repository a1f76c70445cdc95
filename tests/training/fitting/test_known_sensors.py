"""`train` completes for any sensor that `init` knows, even if a channel hardly moves in its range."""

import numpy as np
import pyarrow as pa
import pytest
from tests.training.test_export import coder

from deeprotect.bundle import Bundle
from deeprotect.bundle.layers.tensors import TensorWriter
from deeprotect.policy.draft import columns_of, draft
from deeprotect.policy.known_sensors import KNOWN, Sensor
from deeprotect.training.export import COARSE, to_network
from deeprotect.training.fitting.fit import fit

SCALES = [(sensor, unit) for sensor in KNOWN for unit in sensor.scales]
RECORDINGS, SAMPLES, WINDOW = 12, 60, 6


def quiet(sensor: Sensor, unit: str) -> pa.Table:
    """Acceleration tells the activity; the other sensor stays near the low end of its range and moves by 1/80,000."""
    random, shape = np.random.default_rng(0), (RECORDINGS, SAMPLES)
    scale, walks = sensor.scales[unit], np.arange(RECORDINGS) % 2
    span = scale.high - scale.low
    acc = random.normal(0, 0.05 + 0.25 * walks[:, None, None], (*shape, 3)) + np.array([0, 0, 1])
    still = scale.low + span * (1 / 1200 + random.normal(0, 1 / 80_000, shape))
    fields = {
        "recording": np.repeat([f"r{number:02}" for number in range(RECORDINGS)], SAMPLES),
        **{f"acc_{axis}": acc[..., place].ravel() for place, axis in enumerate("xyz")},
        f"{sensor.names.split()[0]} ({unit})": still.ravel(),
        "activity": np.repeat(np.where(walks, "walk", "sit"), SAMPLES),
    }
    return pa.table(fields)


def trained(sensor: Sensor, unit: str) -> Bundle:
    table = quiet(sensor, unit)
    policy = draft(columns_of(table.schema), useful=["activity"], rate_hz=10.0, window=WINDOW, mapping={})
    return fit(policy.vary(training={"max_epochs": 1}, privacy={"mechanism": "channel"}), table)


def test_a_policy_for_light_can_be_trained_although_its_range_is_a_thousand_times_what_a_room_shows() -> None:
    (light,) = (sensor for sensor in KNOWN if "lx" in sensor.scales)
    bundle = trained(light, "lx")
    assert [channel.unit for channel in bundle.schema.channels] == ["g", "g", "g", "lx"]


@pytest.mark.long
@pytest.mark.parametrize(("sensor", "unit"), SCALES, ids=[f"{each.short} {unit}" for each, unit in SCALES])
def test_a_policy_for_any_known_sensor_can_be_trained(sensor: Sensor, unit: str) -> None:
    assert len(trained(sensor, unit).schema.channels) == 4


@pytest.mark.parametrize("spread", [1e-1, 1e-3, 1e-4, 1e-5, 2e-6, 1e-8])
def test_whole_numbers_hold_a_coder_whose_channels_differ_in_spread(spread: float) -> None:
    random = np.random.default_rng(1)
    loud, quiet = 0.5 + random.normal(0, 0.05, (400, 30)), 0.001 + random.normal(0, spread, (400, 10))
    windows = np.concatenate([loud.reshape(400, 10, 3), quiet[..., None]], axis=2).reshape(400, 40).clip(0, 1)
    network = to_network(coder(windows, 4, classes=5), windows, COARSE)
    tensors = TensorWriter()
    network.to_json(tensors)
    assert max(int(np.abs(each).max()) for each in tensors.arrays.values()) < 1 << 15
