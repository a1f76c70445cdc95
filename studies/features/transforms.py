"""Classical features: orthonormal transforms of each channel in time, cut to the first m coefficients."""

from abc import abstractmethod

import numpy as np
import pywt
from scipy.fft import dct

from deeprotect.training.feature_extractors.feature_extractor import Floats, Linear
from deeprotect.training.networks import window_samples


class _TimeTransform(Linear):
    """A fixed basis in time for every channel; coarse coefficients of all channels come first."""

    def __init__(self, n_features: int = 7, *, channels: int = 1) -> None:
        self.n_features = n_features
        self.channels = channels

    @staticmethod
    @abstractmethod
    def _time_basis(samples: int) -> Floats:
        """Orthonormal rows (coefficient, time), the coarsest first."""

    def _basis(self, X: Floats) -> tuple[Floats, Floats]:
        samples = window_samples(X.shape[1], self.channels)
        # kron puts channel fastest on both axes, as the flattened window does.
        basis = np.kron(self._time_basis(samples), np.eye(self.channels))
        return np.asarray(basis, dtype=np.float64), np.zeros(X.shape[1])


class DFT(_TimeTransform):
    """Real Fourier coefficients: the mean, then cosine and sine of each frequency."""

    @staticmethod
    def _time_basis(samples: int) -> Floats:
        time = np.arange(samples)
        waves = [np.ones(samples)]
        for frequency in range(1, samples // 2 + 1):
            angle = 2 * np.pi * frequency * time / samples
            waves += [np.cos(angle)] if 2 * frequency == samples else [np.cos(angle), np.sin(angle)]
        basis = np.stack(waves)
        return np.asarray(basis / np.linalg.norm(basis, axis=1, keepdims=True))


class DCT(_TimeTransform):
    """Cosine coefficients (type II), lowest frequency first.

    Examples:
        >>> constant = np.full((1, 16), 0.5)  # all of it is in the first coefficient
        >>> DCT(n_features=3).fit_transform(constant).round(6) + 0.0
        array([[2., 0., 0.]])
    """

    @staticmethod
    def _time_basis(samples: int) -> Floats:
        return np.asarray(dct(np.eye(samples), norm="ortho", axis=0))


class Haar(_TimeTransform):
    """Haar wavelet coefficients, coarsest scale first."""

    @staticmethod
    def _time_basis(samples: int) -> Floats:
        """A length that is not a power of two uses the longer basis, cut and orthonormalised in its own order."""
        padded = 1 << (samples - 1).bit_length()
        units = np.eye(padded)
        levels = padded.bit_length() - 1
        rows = np.concatenate(pywt.wavedec(units, "haar", mode="periodization", level=levels, axis=0))
        return _orthonormal(rows[:, :samples])


def _orthonormal(rows: Floats) -> Floats:
    """Gram–Schmidt in the given order; rows that the earlier ones already span are left out."""
    kept: list[Floats] = []
    for row in rows:
        rest = row.copy()
        for _ in range(2):  # twice is enough for working precision (Kahan, Parlett)
            rest = rest - sum(((vector @ rest) * vector for vector in kept), np.zeros_like(row))
        length = np.linalg.norm(rest)
        if length > 1e-9:
            kept.append(rest / length)
    return np.stack(kept)
