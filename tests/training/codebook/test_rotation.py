"""Rotated windows to learn from."""

import pytest
import torch

from deeprotect.policy import Policy
from deeprotect.policy.sections import Training
from deeprotect.signals import Channel
from deeprotect.training.codebook.coder_training import NOISE, Rotation, matrices, triads_of


def worn(**changes) -> Policy:
    channels = {f"{sensor}_{axis}": {"unit": unit, "range": [-high, high + 1]} for sensor, unit, high in (("acc", "g", 4), ("gyro", "rad/s", 30)) for axis in "xyz"}  # fmt: skip  # noqa: E501
    tables = {
        "version": 1,
        "stream": {"rate_hz": 10, "window": 4, "channels": channels},
        "inferences": {"useful": ["activity"]},
        "privacy": {"epsilon": 5.0},
        "training": {"orientation": "free", **changes},
    }
    return Policy.from_tables(tables)


def test_matrices_keep_lengths_and_hands():
    turns = matrices(torch.randn(50, 3, dtype=torch.float64), torch.randn(50, dtype=torch.float64))
    assert torch.allclose(turns @ turns.mT, torch.eye(3, dtype=torch.float64).expand(50, 3, 3), atol=1e-9)
    assert torch.allclose(torch.linalg.det(turns), torch.ones(50, dtype=torch.float64))


def test_a_turned_window_keeps_the_length_of_every_sample_of_every_sensor():
    rotation, windows = Rotation.of(worn()), torch.rand(20, 24)
    turned = rotation(windows, torch.randn(20, NOISE))
    both = [each.unflatten(-1, (4, 6)) * rotation.width + rotation.low for each in (windows, turned)]
    for triad in ([0, 1, 2], [3, 4, 5]):
        lengths = [each[..., triad].norm(dim=-1) for each in both]
        assert torch.allclose(*lengths, atol=1e-3)
    assert not torch.allclose(windows, turned, atol=0.01)


def test_no_angle_is_no_change():
    rotation, windows = Rotation.of(worn()), torch.rand(20, 24)
    noise = torch.randn(20, NOISE)
    noise[:, 3] = 0
    assert torch.allclose(rotation(windows, noise), windows, atol=1e-5)


@pytest.mark.parametrize(
    ("names", "triads"),
    [
        (["acc_x", "acc_y", "acc_z"], [(0, 1, 2)]),
        (["Az", "Ax", "Ay", "level"], [(1, 2, 0)]),
        (["x_acc", "y_acc", "z_acc", "x_gyro", "y_gyro", "z_gyro"], [(0, 1, 2), (3, 4, 5)]),
        (["acc_x", "acc_y"], []),
        (["sound"], []),
    ],
)
def test_axes_of_a_sensor_are_found_by_name(names, triads):
    assert list(triads_of([Channel(name, "g", -1, 1) for name in names])) == triads


def test_axes_in_different_units_are_not_one_sensor():
    channels = [Channel(f"acc_{axis}", unit, -1, 1) for axis, unit in zip("xyz", ("g", "g", "m/s²"), strict=True)]
    assert triads_of(channels) == ()


def test_orientation_is_kept_unless_the_policy_says_that_it_carries_nothing():
    assert Rotation.of(worn(orientation="kept")) is None
    assert Rotation.of(worn()) is not None
    assert Training().orientation == "kept"
