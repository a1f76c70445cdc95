"""Feature matching: what it does to the features of a mixture, and what it leaves alone."""

import numpy as np
import pytest

from deeprotect.training.codebook.matching import FeatureMatching
from deeprotect.training.codebook.mixing import draw_weights, mix

TIME, CHANNELS, ROWS, PARTS = 32, 3, 8, 12


def swings(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Windows of two classes, slow and fast, that start at any phase."""
    random = np.random.default_rng(seed)
    fast = random.integers(0, 2, rows)
    phase = random.uniform(0, 2 * np.pi, (rows, 1, 1))
    time = np.arange(TIME)[None, :, None] * np.where(fast, 1.2, 0.5)[:, None, None]
    turned = np.array([0.0, 1.0, 2.0])
    samples = 0.5 + 0.2 * np.sin(phase + time + turned) + random.normal(0, 0.01, (rows, TIME, CHANNELS))
    return np.clip(samples, 0, 1), fast


def magnitudes(flat: np.ndarray) -> np.ndarray:
    return np.linalg.norm(flat.reshape(-1, TIME, CHANNELS) - 0.5, axis=2)


@pytest.fixture(scope="module")
def mixed() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    samples, fast = swings(400)
    random, flat = np.random.default_rng(1), samples.reshape(400, -1)
    parts = flat[random.choice(np.flatnonzero(fast), (ROWS, PARTS))]
    plain = mix(parts, draw_weights(PARTS, np.full(ROWS, 0.5), random=random))
    matched = FeatureMatching.of(samples, [fast]).match(plain, parts, [1])
    return samples, parts, plain, matched


def test_magnitudes_of_a_matched_mixture_are_those_of_its_parts(mixed):
    _, parts, plain, matched = mixed
    (wanted, before, after) = (np.sort(magnitudes(each)).mean(axis=0) for each in (parts, plain, matched))
    assert np.abs(after - wanted).max() < np.abs(before - wanted).max() / 2


def test_amplitudes_of_a_matched_mixture_are_those_of_its_parts(mixed):
    spectra = (np.abs(np.fft.rfft(each.reshape(-1, TIME, CHANNELS), axis=1)).mean(axis=0) for each in mixed[1:])
    wanted, before, after = (each[1:] for each in spectra)
    assert np.abs(after - wanted).sum() < np.abs(before - wanted).sum() / 2


def test_matched_mixtures_stay_in_the_public_range_and_are_the_same_again(mixed):
    samples, parts, plain, matched = mixed
    assert matched.min() >= 0
    assert matched.max() <= 1
    fast = swings(400)[1]
    np.testing.assert_array_equal(FeatureMatching.of(samples, [fast]).match(plain, parts, [1]), matched)


def test_windows_of_any_phase_lie_together():
    samples, fast = swings(60, seed=2)
    places = FeatureMatching.of(samples, []).places(samples.reshape(60, -1))
    own = np.linalg.norm(places[fast == 1][1:] - places[fast == 1][0], axis=1)
    other = np.linalg.norm(places[fast == 0] - places[fast == 1][0], axis=1)
    assert own.max() < other.min()


@pytest.mark.parametrize(("time", "channels"), [(1, 1), (1, 3), (2, 4), (5, 6)])
def test_windows_of_any_shape_are_matched(time, channels):
    random = np.random.default_rng(0)
    samples = random.uniform(size=(20, time, channels))
    parts = samples.reshape(20, -1)[random.integers(0, 20, (3, 4))]
    targets = [np.resize([0, 1, -1], 20), np.zeros(20, dtype=np.int64), np.full(20, -1)]
    matched = FeatureMatching.of(samples, targets).match(parts.mean(axis=1), parts, [1, 0, 0])
    assert matched.shape == (3, time * channels)
    assert np.isfinite(matched).all()
