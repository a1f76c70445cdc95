"""Blind compressive sensing: the shrinkage steps reach the sparse code they aim for."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import sparse_encode

from studies.features.sparse import BlindCompressiveSensing, SparseCode


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), alpha=st.floats(0.01, 0.5))
def test_many_steps_reach_the_lasso_solution(seed: int, alpha: float) -> None:
    generator = np.random.default_rng(seed)
    atoms = np.linalg.qr(generator.normal(size=(10, 4)))[0].T + 0.1 * generator.normal(size=(4, 10))
    X = generator.random((5, 10))
    expected = sparse_encode(X, atoms, algorithm="lasso_cd", alpha=alpha, max_iter=5000)
    found = SparseCode(atoms, np.zeros(10), alpha=alpha, steps=1000)(torch.tensor(X)).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-2)


def test_a_heavier_price_makes_sparser_codes() -> None:
    X = np.random.default_rng(0).random((200, 12))
    zeros = [
        (BlindCompressiveSensing(alpha=alpha, random_state=0).fit_transform(X) == 0).mean() for alpha in (0.01, 1.0)
    ]
    assert zeros[0] < zeros[1] < 1.0
