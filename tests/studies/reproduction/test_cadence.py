"""Steps a minute: the reference, the pedometer of others, and the table that is made for them."""

import numpy as np
import pyarrow as pa
import pytest

from deeprotect.training.labelled_windows import read_windows
from studies.reproduction.cadence import CADENCE, RATE_HZ, VERTICAL, WINDOW, cadences, counted, policy_of, vertical


def steps(per_minute: float, seconds: float = 5.12, seed: int = 0) -> np.ndarray:
    """Vertical acceleration of somebody who walks: a bounce for each step, its harmonic, and noise."""
    random = np.random.default_rng(seed)
    turns = 2 * np.pi * per_minute / 60 * np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    return 0.3 * np.sin(turns) + 0.1 * np.sin(2 * turns) + random.normal(0, 0.03, len(turns))


@pytest.mark.parametrize("per_minute", [75, 110, 165])
def test_the_reference_is_the_rate_of_the_bounces(per_minute):
    assert cadences(steps(per_minute)[None], rate_hz=RATE_HZ)[0] == pytest.approx(per_minute, abs=2)


@pytest.mark.parametrize("per_minute", [75, 110, 165])
def test_an_unmodified_pedometer_counts_them(per_minute):
    assert counted(steps(per_minute, seconds=60), rate_hz=RATE_HZ) == pytest.approx(per_minute, abs=4)


def test_vertical_is_along_gravity_whatever_way_the_phone_lies():
    random = np.random.default_rng(0)
    turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
    up, forward = random.normal(size=(2, 50))
    samples = np.stack([forward, np.zeros(50), up], axis=1) @ turn
    gravity = np.tile(np.array([0.0, 0.0, -1.0]) @ turn, (50, 1))
    columns = {f"user_acc_{axis}": samples[:, place] for place, axis in enumerate("xyz")}
    columns |= {f"gravity_{axis}": gravity[:, place] for place, axis in enumerate("xyz")}
    np.testing.assert_allclose(vertical(pa.table(columns)), up, atol=1e-12)


def test_the_policy_reads_windows_of_levels():
    samples = np.concatenate([steps(110), steps(70)])
    labels = np.repeat([110.0, 70.0], WINDOW)
    columns = {VERTICAL: samples, CADENCE: labels, "gender": np.repeat("female", 2 * WINDOW), "person": "p1"}
    columns["person"] = np.repeat("p1", 2 * WINDOW)
    windows = read_windows(pa.table(columns), policy_of())
    values = windows.labels[CADENCE].astype(float)
    np.testing.assert_allclose(values, [110, 70], atol=4)
