"""The training data of coders."""

import numpy as np
import pytest
import torch

from deeprotect.training.codebook.coder import Coder
from deeprotect.training.codebook.coder_training import SCHEDULE, CoderData, CoderLoss, fit_coder, ordinal_cross_entropy
from deeprotect.training.labelled_windows import Targets
from deeprotect.training.networks import Standardise

CHANNELS, SAMPLES, ROWS = 2, 6, 80


def data(*, seed: int = 1) -> CoderData:
    windows = np.random.default_rng(seed).uniform(size=(ROWS, CHANNELS * SAMPLES))
    labels = np.array(["low" if window.mean() < 0.5 else "high" for window in windows], dtype=object)
    labels[::7] = None
    return CoderData(torch.tensor(windows, dtype=torch.float32), np.arange(ROWS) % 10 < 9, Targets.read(labels, ROWS))


def started(*, start: float, followed: bool) -> list[float]:
    """The second of three rows of running numbers."""
    windows = torch.arange(3.0 * CHANNELS * SAMPLES).reshape(3, -1)
    coder = Coder(windows, CHANNELS, classes=3)
    loss = CoderLoss(
        windows,
        Standardise(windows.double().numpy()),
        coder,
        targets=Targets(np.zeros((3, 1), np.int64), (np.arange(3),)),
    )
    return loss._started(torch.tensor([1]), torch.tensor([followed]), torch.tensor([[start]]))[0].tolist()


@pytest.mark.parametrize("start", [-9.0, -1.0, 0.0, 1.0, 9.0])
def test_a_window_starts_in_its_row_with_the_first_channel_and_goes_on_from_there(start):
    first, *rest = started(start=start, followed=True)
    assert 12 <= first < 24
    assert first % CHANNELS == 0
    assert rest == [first + place for place in range(1, 12)]


@pytest.mark.parametrize("start", [-9.0, 0.0, 9.0])
def test_a_window_without_a_follower_is_learnt_from_its_beginning(start):
    assert started(start=start, followed=False) == list(range(12, 24))


def test_the_same_seed_gives_the_same_coder_and_missing_labels_are_fine():
    known = data()
    first, again = (fit_coder(known, known.labelled, channels=CHANNELS, seed=3) for _ in range(2))
    scores = first(known.windows)
    assert torch.equal(scores, again(known.windows))
    right = scores.argmax(dim=1).numpy() == known.targets.codes[:, 0]
    assert right[known.labelled].mean() > 0.9


def test_nothing_in_other_rows_reaches_a_coder():
    known, chosen = data(), np.arange(ROWS) % 10 < 6
    codes, windows = known.targets.codes.copy(), known.windows.clone()
    codes[~chosen], windows[torch.tensor(~chosen)] = 0, torch.nan
    other = CoderData(windows, known.followed, Targets(codes, known.targets.classes))
    first, second = (fit_coder(each, chosen, channels=CHANNELS, seed=0) for each in (known, other))
    assert torch.equal(first(known.windows), second(known.windows))


def test_progress_rises_to_the_end():
    known, shares = data(), []
    schedule = SCHEDULE.__class__(max_epochs=4, max_steps=1000, batch_size=32, learning_rate=0.01, patience=9)
    fit_coder(known, known.labelled, channels=CHANNELS, seed=0, schedule=schedule, progress=shares.append)
    assert shares == [0.25, 0.5, 0.75, 1.0]


def test_of_levels_a_coder_says_the_median_and_not_the_mode():
    """Scores of five levels, not in the order of their codes; the lowest is the likeliest, the median two above."""
    rank = torch.tensor([2, 0, 4, 1, 3])
    shares = torch.tensor([0.2, 0.35, 0.15, 0.1, 0.2])  # by code
    scores = torch.zeros(1, 5, requires_grad=True)
    optimiser = torch.optim.Adam([scores], lr=0.05)
    for _ in range(300):
        optimiser.zero_grad()
        loss = sum(
            share * ordinal_cross_entropy(scores, rank, torch.tensor([code])) for code, share in enumerate(shares)
        ).sum()
        loss.backward()
        optimiser.step()
    assert int(rank[scores.argmax()]) == 2


def test_a_level_that_is_missing_teaches_nothing():
    loss = ordinal_cross_entropy(torch.randn(2, 3), torch.arange(3), torch.tensor([-1, 1]))
    assert loss[0] == 0 < loss[1]
