import numpy as np
import pytest
import torch

from deeprotect.training.codebook.coder import Coder
from deeprotect.training.codebook.coder_training import CoderData, CoderLoss, fit_coders
from deeprotect.training.labels import Targets
from deeprotect.training.networks import Standardise

CHANNELS, SAMPLES = 2, 6


def loss() -> CoderLoss:
    windows = np.random.default_rng(0).uniform(size=(20, CHANNELS * SAMPLES))
    standardise = Standardise(windows)
    coder = Coder(standardise(torch.tensor(windows, dtype=torch.float32)), CHANNELS, classes=3)
    return CoderLoss(standardise, coder, counts=(3,))


@pytest.mark.parametrize("start", [-9.0, -1.0, 0.0, 1.0, 9.0])
def test_a_shifted_window_is_a_piece_of_the_two_it_lies_between(start):
    pair = torch.arange(2.0 * CHANNELS * SAMPLES)[None]
    started = loss()._started(pair, torch.tensor([[start]]))[0]
    assert started[0] % CHANNELS == 0
    assert torch.equal(started, started[0] + torch.arange(CHANNELS * SAMPLES))


def test_a_window_without_a_follower_is_learnt_from_its_beginning():
    pair = torch.cat([torch.arange(12.0), torch.full((12,), torch.nan)])[None]
    for start in (-9.0, 0.0, 9.0):
        assert torch.equal(loss()._started(pair, torch.tensor([[start]]))[0], torch.arange(12.0))


def test_the_same_seed_gives_the_same_coder_and_missing_labels_are_fine():
    windows = np.random.default_rng(1).uniform(size=(80, 12))
    labels = np.array(["low" if window.mean() < 0.5 else "high" for window in windows], dtype=object)
    labels[::7] = None
    data = CoderData(windows, np.full_like(windows, np.nan), Targets.read(labels, 80))
    first, again = (fit_coders([data], channels=CHANNELS, seed=3)[0] for _ in range(2))
    scores = first(torch.tensor(windows, dtype=torch.float32))
    assert torch.equal(scores, again(torch.tensor(windows, dtype=torch.float32)))
    right = np.array(["high", "low"])[scores.argmax(dim=1)] == labels
    assert right[labels != None].mean() > 0.9  # noqa: E711
