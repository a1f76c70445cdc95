"""The shared face of every minimiser: a window in, few features out, and a window back."""

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
from deeprotect.training.labels import Targets

Floats = NDArray[np.float64]


class Minimiser(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Rows are windows scaled to [0, 1] and flattened (index = time * channels + channel).

    `n_features` beyond the window's own length is lowered to that length: more could not tell more.
    """

    n_features: int
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from windows (row, value); y is None, (row,) or (row, inference) with missing labels allowed."""
        encoder, decoder = self._learn(*self._read(X, y))
        # Kept in double precision, so that a row's features do not depend on the rows beside it.
        self.encoder_ = encoder.double().eval().requires_grad_(requires_grad=False)
        self.decoder_ = decoder.double().eval().requires_grad_(requires_grad=False)
        return self

    def transform(self, X: Any) -> Floats:
        """Features (row, feature) of windows (row, value)."""
        check_is_fitted(self)
        windows = validate_data(self, X, dtype=np.float64, reset=False)
        return _run(self.encoder_, windows)

    def inverse_transform(self, X: Any) -> Floats:
        """Windows (row, value) of features (row, feature)."""
        check_is_fitted(self)
        features = check_array(X, dtype=np.float64)
        if features.shape[1] != self._n_features_out:
            raise InputError(f"{features.shape[1]} features were given; this minimiser has {self._n_features_out}")
        return _run(self.decoder_, features)

    def encoder(self) -> nn.Module:
        """A float32 copy that maps (row, value) to (row, feature)."""
        check_is_fitted(self)
        return _single(self.encoder_)

    def decoder(self) -> nn.Module:
        """A float32 copy that maps (row, feature) to (row, value)."""
        check_is_fitted(self)
        return _single(self.decoder_)

    @abstractmethod
    def _learn(self, windows: Floats, targets: Targets) -> tuple[nn.Module, nn.Module]:
        """An encoder and a decoder."""

    def _read(self, X: Any, y: Any) -> tuple[Floats, Targets]:
        if self.n_features < 1:
            raise InputError(f"n_features = {self.n_features} must be at least 1")
        windows: Floats = validate_data(self, X, dtype=np.float64)
        if y is not None:
            check_consistent_length(windows, y)
        self._n_features_out = min(self.n_features, windows.shape[1])
        return windows, Targets.read(y, len(windows))

    def _generator(self) -> torch.Generator:
        """The model's own randomness; torch's global generator is never touched."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return torch.Generator().manual_seed(seed)


def _single(module: nn.Module) -> nn.Module:
    return copy.deepcopy(module).float().eval()


def _run(module: nn.Module, rows: Floats) -> Floats:
    with torch.inference_mode():
        return np.asarray(module(torch.tensor(rows)).numpy())
