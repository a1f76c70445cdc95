"""Costs: right is cheaper than wrong, silence is free, and each equals its textbook form."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.training.feature_extractors.autoencoder import LOSSES, hinge, misread, ridge, softmax, useful_loss

SCORES = torch.tensor([[2.0, -1.0, 0.5], [0.0, 0.0, 3.0]])
CODES = torch.tensor([0, 1])


def test_ridge_is_the_squared_distance_to_signs() -> None:
    assert ridge(SCORES, CODES).tolist() == [1.0 + 0.0 + 2.25, 1.0 + 1.0 + 16.0]


def test_softmax_is_cross_entropy() -> None:
    torch.testing.assert_close(
        softmax(SCORES, CODES), torch.nn.functional.cross_entropy(SCORES, CODES, reduction="none")
    )


def test_hinge_asks_for_a_margin_of_one() -> None:
    assert hinge(SCORES, CODES).tolist() == [0.0, 4.0]


def test_misread_counts_wrong_best_classes() -> None:
    assert misread(SCORES, CODES).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("name", LOSSES)
@given(seed=st.integers(0, 1000))
def test_rows_without_a_label_cost_nothing(name: str, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(6, 5, generator=generator)
    codes = torch.stack([torch.randint(-1, 2, (6,), generator=generator), torch.tensor([0, 1, 2, 0, 1, -1])], dim=1)
    loss = LOSSES[name]
    total = useful_loss(loss, scores, codes, counts=(2, 3)).item()
    parts = []
    for column, block in enumerate((scores[:, :2], scores[:, 2:])):
        known = codes[:, column] >= 0
        parts.append(loss(block[known], codes[known, column]).mean().item() if known.any() else 0.0)
    assert total == pytest.approx(np.mean(parts), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_no_inference_costs_nothing(name: str) -> None:
    empty = torch.empty(4, 0)
    assert useful_loss(LOSSES[name], empty, empty.long(), counts=()).item() == 0.0
