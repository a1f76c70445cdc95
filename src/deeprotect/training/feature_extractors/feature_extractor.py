"""The interface of all feature extractors, which reduce a window to a few features and reconstruct it; linear ones."""

import copy
from abc import abstractmethod
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data
from torch import nn

from deeprotect.errors import InputError
from deeprotect.training.labelled_windows import Targets
from deeprotect.training.networks import unset

Floats = NDArray[np.float64]


class FeatureExtractor(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Rows are windows scaled to [0, 1] and flattened (index = time * channels + channel).

    `n_features` is at most the length of a window.
    """

    n_features: int
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from windows (row, value); y is None, (row,) or (row, inference) with missing labels allowed."""
        encoder, decoder = self._learn(*self._read(X, y))
        # In double precision, so that a row's features do not depend on the other rows.
        self.encoder_ = encoder.double().eval().requires_grad_(requires_grad=False)
        self.decoder_ = decoder.double().eval().requires_grad_(requires_grad=False)
        return self

    def transform(self, X: Any) -> Floats:
        """Compute features (row, feature) of windows (row, value)."""
        check_is_fitted(self)
        windows = validate_data(self, X, dtype=np.float64, reset=False)
        return _run(self.encoder_, windows)

    def inverse_transform(self, X: Any) -> Floats:
        """Reconstruct windows (row, value) from features (row, feature)."""
        check_is_fitted(self)
        features = check_array(X, dtype=np.float64)
        if features.shape[1] != self._n_features_out:
            raise InputError(
                f"{features.shape[1]} features were given; this feature extractor has {self._n_features_out}"
            )
        return _run(self.decoder_, features)

    def encoder(self) -> nn.Module:
        """A float32 copy of the map from (row, value) to (row, feature)."""
        check_is_fitted(self)
        return _single(self.encoder_)

    def decoder(self) -> nn.Module:
        """A float32 copy of the map from (row, feature) to (row, value)."""
        check_is_fitted(self)
        return _single(self.decoder_)

    @abstractmethod
    def _learn(self, windows: Floats, targets: Targets) -> tuple[nn.Module, nn.Module]:
        """Train and return an encoder and a decoder."""

    def _read(self, X: Any, y: Any) -> tuple[Floats, Targets]:
        if self.n_features < 1:
            raise InputError(f"n_features = {self.n_features} must be at least 1")
        windows: Floats = validate_data(self, X, dtype=np.float64)
        if y is not None:
            check_consistent_length(windows, y)
        self._n_features_out = min(self.n_features, windows.shape[1])
        return windows, Targets.read(y, len(windows))

    def _generator(self) -> torch.Generator:
        """The model's own random generator; torch's global one is never used."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return torch.Generator().manual_seed(seed)


def _single(module: nn.Module) -> nn.Module:
    return copy.deepcopy(module).float().eval()


def _run(module: nn.Module, rows: Floats) -> Floats:
    with torch.inference_mode():
        return np.asarray(module(torch.tensor(rows)).numpy())


class Linear(FeatureExtractor):
    """features = components (x - mean), x ≈ componentsᵀ features + mean; the components' rows are orthonormal."""

    components_: Floats
    mean_: Floats

    @abstractmethod
    def _basis(self, X: Floats) -> tuple[Floats, Floats]:
        """Orthonormal rows (value, value), the most informative first, and the mean (value,)."""

    def _learn(self, windows: Floats, _: Targets) -> tuple[nn.Module, nn.Module]:
        basis, self.mean_ = self._basis(windows)
        self.components_ = basis[: self._n_features_out]
        encoder = affine(self.components_, -self.components_ @ self.mean_)
        return encoder, affine(self.components_.T, self.mean_)


class PCA(Linear):
    """Principal components of the training windows.

    Examples:
        >>> windows = np.random.default_rng(0).random((100, 30))  # (window, value), scaled to [0, 1]
        >>> feature_extractor = PCA(n_features=7).fit(windows)
        >>> features = feature_extractor.transform(windows)
        >>> features.shape, feature_extractor.inverse_transform(features).shape
        ((100, 7), (100, 30))
    """

    def __init__(self, n_features: int = 7) -> None:
        self.n_features = n_features

    def _basis(self, X: Floats) -> tuple[Floats, Floats]:
        mean = X.mean(axis=0)
        centred = X - mean
        _, vectors = np.linalg.eigh(centred.T @ centred)
        rows = vectors.T[::-1]
        strongest = np.abs(rows).argmax(axis=1)
        # The sign of a component is arbitrary: fix it, so that two fits agree.
        return rows * np.sign(rows[np.arange(len(rows)), strongest])[:, None], mean


def affine(weight: Any, bias: Any) -> nn.Linear:
    """The layer x -> weight x + bias, in double precision."""
    layer = unset(nn.Linear, weight.shape[1], weight.shape[0], dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.as_tensor(weight))
        layer.bias.copy_(torch.as_tensor(bias))
    return layer
