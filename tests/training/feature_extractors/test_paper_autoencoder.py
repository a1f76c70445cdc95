"""The paper's autoencoder keeps its constraints and obeys its objective."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from deeprotect.training.feature_extractors.paper_autoencoder import (
    Constants,
    PaperAutoencoder,
    TiedLayer,
    TrainingRows,
    descend,
    objective,
)

CONSTANTS = Constants(alpha=0.1, mu=1.0, beta=0.01, decay=1e-3, sparsity=1e-2, rho=0.3, max_iter=20, batch_size=16)


def some_rows(seed: int, values: int = 8, classes: int = 3) -> TrainingRows:
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.rand(40, values, generator=generator)
    signs = torch.sign(torch.randn(40, classes, generator=generator))
    return TrainingRows(inputs, signs, generator)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), units=st.integers(1, 8))
def test_weights_stay_orthonormal_through_training(seed: int, units: int) -> None:
    W = descend(some_rows(seed), units, constants=CONSTANTS).W
    torch.testing.assert_close(W @ W.T, torch.eye(units), atol=1e-4, rtol=0.0)


def test_orthonormalising_finds_the_nearest_orthonormal_weights() -> None:
    rows = some_rows(0)
    layers = TiedLayer.start(rows, 4)
    W = torch.randn(4, 8, generator=rows.generator)
    u, _, vt = torch.linalg.svd(W, full_matrices=False)
    torch.testing.assert_close(
        TiedLayer(W, layers.b_e, layers.b_d, layers.c).orthonormal().W, u @ vt, atol=1e-4, rtol=0.0
    )


def test_the_objective_is_the_papers_sum_of_terms() -> None:
    rows = some_rows(1)
    layers = TiedLayer.start(rows, 4)
    W, b_e, b_d, c = (part.double().numpy() for part in layers.parts())
    x, y = rows.inputs.double().numpy(), rows.signs.double().numpy()
    f = 1 / (1 + np.exp(-(x @ W.T + b_e)))
    x_ = 1 / (1 + np.exp(-(f @ W + b_d)))
    r, rho = f.mean(axis=0), 0.3
    expected = ((x - x_) ** 2).sum(axis=1).mean()
    expected += (0.01 * (c**2).sum() + ((x_ @ c - y) ** 2).sum(axis=1).mean()) / 8
    expected += 1e-3 * (W**2).sum()
    expected += 1e-2 * (rho * np.log(rho / r) + (1 - rho) * np.log((1 - rho) / (1 - r))).sum()
    found = objective(layers, rows.inputs, rows.signs, constants=CONSTANTS)
    assert found.item() == pytest.approx(expected, rel=1e-5)


def test_rows_without_labels_do_not_move_the_reader() -> None:
    rows = some_rows(2)
    layers = TiedLayer.start(rows, 4)
    c = layers.c.requires_grad_()
    loss = objective(layers, rows.inputs, torch.zeros_like(rows.signs), constants=CONSTANTS).sum()
    (step,) = torch.autograd.grad(loss, c)
    torch.testing.assert_close(step, 2 * CONSTANTS.mu / 8 * CONSTANTS.beta * c.detach())


def test_training_lowers_the_objective() -> None:
    before = TiedLayer.start(some_rows(3), 4)
    after = descend(some_rows(3), 4, constants=CONSTANTS)
    rows = some_rows(3)
    first, last = (objective(layers, rows.inputs, rows.signs, constants=CONSTANTS).item() for layers in (before, after))
    assert last < first


def test_layers_are_stacked_fifteen_then_seven_by_default() -> None:
    model = PaperAutoencoder(max_iter=2, random_state=0).fit(np.random.default_rng(0).random((20, 30)))
    widths = [tuple(weight.shape) for weight in model.encoder().parameters() if weight.ndim == 2]
    assert widths == [(15, 30), (7, 15)]
