"""The small convolutional network."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from deeprotect.attack import models
from deeprotect.attack.models import ConvolutionalClassifier
from deeprotect.errors import InputError


def _tones(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Slow or fast oscillation of 32 samples of 2 channels, of any phase: no value tells anything by itself."""
    rng = np.random.default_rng(seed)
    fast = rng.integers(2, size=count)
    phase = rng.uniform(0, 2 * np.pi, (count, 1, 2))
    times = np.arange(32)[None, :, None] / 32
    windows = 0.5 + 0.2 * np.sin(2 * np.pi * (2 + 3 * fast[:, None, None]) * times + phase)
    return (windows + rng.normal(0, 0.05, windows.shape)).reshape(count, -1), fast.astype(str)


def test_it_knows_a_rhythm_whatever_its_phase() -> None:
    windows, labels = _tones(300, 0)
    unseen, truth = _tones(300, 1)
    model = ConvolutionalClassifier(2, seed=0).fit(windows, labels)
    assert np.mean(model.classes_[model.predict_proba(unseen).argmax(axis=1)] == truth) > 0.95


def test_it_leaves_torch_as_it_was() -> None:
    torch.manual_seed(5)
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        ConvolutionalClassifier(2, seed=0).fit(*_tones(20, 0))
        assert torch.equal(state, torch.random.get_rng_state())
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


def test_reading_in_parts_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    windows, labels = _tones(20, 0)
    model = ConvolutionalClassifier(2, seed=0).fit(windows, labels)
    whole = model.predict_proba(windows)
    monkeypatch.setattr(models, "AT_ONCE", 7)
    np.testing.assert_allclose(model.predict_proba(windows), whole, atol=1e-6)


def test_a_huge_table_takes_no_more_steps_than_a_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(models, "SCHEDULE", replace(models.SCHEDULE, max_steps=3, batch_size=8))
    monkeypatch.setattr(models, "train_network", lambda job, _: seen.append(len(job.train[0])))
    for count in (20, 24, 60):
        ConvolutionalClassifier(2, seed=0).fit(*_tones(count, 0))
    assert seen == [20, 24, 24]


@pytest.mark.parametrize("samples", [1, 2, 3, 90])
def test_windows_of_any_length_are_read(samples: int) -> None:
    windows = np.random.default_rng(0).random((12, samples * 3))
    probabilities = ConvolutionalClassifier(3, seed=0).fit(windows, np.array(list("abc" * 4))).predict_proba(windows)
    assert probabilities.shape == (12, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_channels_that_do_not_fit_the_window_are_refused() -> None:
    with pytest.raises(InputError, match="channels"):
        ConvolutionalClassifier(5, seed=0).fit(*_tones(10, 0))
