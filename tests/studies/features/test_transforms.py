"""Orthonormal transforms: they lose nothing when nothing is cut, and coarse coefficients come first."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deeprotect.errors import InputError
from studies.features.transforms import DCT, DFT, Haar

shapes = st.tuples(st.integers(1, 17), st.integers(1, 4))


@pytest.mark.parametrize("kind", [DFT, DCT, Haar])
@settings(max_examples=25, deadline=None)
@given(shape=shapes, seed=st.integers(0, 100))
def test_all_coefficients_together_give_the_window_back(kind: type[DFT], shape: tuple[int, int], seed: int) -> None:
    samples, channels = shape
    X = np.random.default_rng(seed).random((3, samples * channels))
    transform = kind(samples * channels, channels=channels).fit(X)
    np.testing.assert_allclose(transform.components_ @ transform.components_.T, np.eye(samples * channels), atol=1e-10)
    np.testing.assert_allclose(transform.inverse_transform(transform.transform(X)), X, atol=1e-10)


@pytest.mark.parametrize("kind", [DFT, DCT, Haar])
def test_the_first_coefficients_are_the_channel_means(kind: type[DFT]) -> None:
    X = np.random.default_rng(0).random((5, 30))
    means = X.reshape(5, 10, 3).mean(axis=1)
    features = kind(3, channels=3).fit_transform(X)
    np.testing.assert_allclose(np.abs(features), means * np.sqrt(10), atol=1e-10)


def test_a_steady_window_has_no_haar_detail() -> None:
    features = Haar(16).fit_transform(np.full((1, 16), 0.3))
    np.testing.assert_allclose(features[0, 1:], 0.0, atol=1e-12)


def test_channels_that_do_not_divide_the_window_are_refused() -> None:
    with pytest.raises(InputError, match="channels = 4"):
        DCT(channels=4).fit(np.zeros((3, 30)))
