"""With an unknown orientation, the means of channels do not affect the coder."""

import numpy as np
import pytest
import torch
from tests.training.conftest import POLICY

from deeprotect.policy import Policy
from deeprotect.training.codebook.coder_training import CoderData, Rotation, fit_coder
from deeprotect.training.export import COARSE, to_network
from deeprotect.training.labelled_windows import Targets
from deeprotect.training.networks import RemoveLevel

CHANNELS = 2


@pytest.fixture(scope="module")
def coder(gym_windows):
    policy = Policy.from_tables(POLICY).vary(training={"orientation": "unknown"})
    data = CoderData.of(gym_windows, Targets.read(gym_windows.targets(["activity"]), len(gym_windows)), policy)
    rotation = Rotation.of(policy)
    assert rotation is not None
    assert rotation.unknown
    return to_network(
        fit_coder(data, data.labelled, channels=CHANNELS, seed=0, rotation=rotation), gym_windows.flat, COARSE
    )


def test_the_level_of_each_channel_is_taken_off_alone():
    windows = torch.rand(5, 16, dtype=torch.float64)
    series = RemoveLevel(CHANNELS)(windows).unflatten(-1, (-1, CHANNELS))
    wanted = windows.unflatten(-1, (-1, CHANNELS))
    torch.testing.assert_close(series / 8, wanted - wanted.mean(dim=1, keepdim=True))


@pytest.mark.parametrize("samples", [8, 300])
def test_as_a_layer_it_is_exact_however_long_the_window(samples):
    rows = np.random.default_rng(0).integers(0, 1 << 15, (40, samples * CHANNELS)) / 2.0**15
    network = to_network(RemoveLevel(CHANNELS), rows, COARSE)
    expected = RemoveLevel(CHANNELS)(torch.tensor(rows)).numpy()
    np.testing.assert_array_equal(network(rows), expected)


def test_another_level_of_a_channel_changes_no_score(coder, gym_windows):
    """Levels on the grid of windows: a phone that lies otherwise, as long as no sample leaves the range."""
    rows = np.rint(gym_windows.flat * 2**15) / 2**15
    inside = (rows.min(axis=1) > 0.2) & (rows.max(axis=1) < 0.8)
    moved = rows[inside] + np.tile([0.125, -0.125], 8)
    assert inside.sum() > 50
    np.testing.assert_array_equal(coder(rows[inside]), coder(moved))


def test_what_is_done_is_read_all_the_same(coder, gym_windows):
    names = np.array(["run", "still", "walk"])[coder(gym_windows.flat).argmax(axis=1)]
    known = gym_windows.labelled("activity")
    assert np.mean(names[known] == gym_windows.labels["activity"][known]) > 0.95


def test_without_three_axes_only_the_level_is_put_aside():
    unknown, free = (
        Rotation.of(Policy.from_tables(POLICY).vary(training={"orientation": each})) for each in ("unknown", "free")
    )
    assert free is None
    assert unknown is not None
    rows = torch.rand(3, 16)
    torch.testing.assert_close(unknown(rows, torch.randn(3, 4)), rows)
