"""Features of a window that recognition apps compute: statistics, spectra, coarse shape, magnitudes, correlations."""

from itertools import pairwise
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from deeprotect.signals.schema import Floats

BANDS = 16
"""Number of spectral bands of equal width; a short window has only as many as it has frequencies."""
PARTS = 8
"""Number of stretches of a window whose means describe its coarse shape."""
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_PAIRS = 28
"""Number of pairs of series to correlate: all pairs of eight series."""
AT_ONCE = 1 << 22
"""Values processed at a time, so that memory does not grow with the table."""


VIEWS = ("magnitudes", "spectra", "correlations")
"""Names of the partial feature sets that simpler apps use."""


class WindowFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Converts flat windows to features without learning anything; values lie in [0, 1], `channels` per time.

    If the number of channels is a multiple of three, each three in a row count as the axes of one sensor. `view`
    selects the features of a simpler app: magnitudes, spectra, or correlations and spreads.
    """

    def __init__(self, channels: int = 1, view: str | None = None) -> None:
        self.channels = channels
        self.view = view

    def fit(self, _windows: Any, _labels: Any = None) -> Self:
        return self

    def transform(self, flat: Any) -> Floats:
        windows = np.asarray(flat, dtype=np.float64)
        rows = max(1, AT_ONCE // max(1, windows.shape[1]))
        parts = [self._of(windows[start : start + rows]) for start in range(0, len(windows), rows)]
        return np.concatenate(parts) if parts else self._of(windows)

    def _of(self, windows: Floats) -> Floats:
        series = windows.reshape(len(windows), -1, self.channels).transpose(0, 2, 1) - 0.5  # (window, channel, time)
        if self.channels % 3 == 0:
            axes = series.reshape(len(series), -1, 3, series.shape[2])
            magnitudes = np.linalg.norm(axes, axis=2)
            series = magnitudes if self.view == "magnitudes" else np.concatenate([series, magnitudes], axis=1)
        spread = series.std(axis=2)
        still = series - series.mean(axis=2)[:, :, None]
        if self.view == "spectra":
            found = [spread, *_spectrum(still)]
        elif self.view == "correlations":
            found = [spread, _correlations(still, spread)]
        else:
            found = [*_statistics(series, still, spread), *_spectrum(still), _correlations(still, spread)]
        return np.concatenate(found, axis=1)


def _statistics(series: Floats, still: Floats, spread: Floats) -> list[Floats]:
    """Moments and ranges of values, of differences between neighbours, and means of stretches."""
    several = series.shape[2] > 1
    steps = np.diff(series, axis=2) if several else np.zeros_like(series)
    crossings = (still[:, :, 1:] * still[:, :, :-1] < 0).mean(axis=2) if several else np.zeros_like(spread)
    return [
        series.mean(axis=2),
        spread,
        np.abs(steps).mean(axis=2),
        steps.std(axis=2),
        crossings,
        series.min(axis=2),
        series.max(axis=2),
        *np.quantile(series, LEVELS, axis=2),
        _moment(still, spread, 3),
        _moment(still, spread, 4),
        *_pooled(series, min(PARTS, series.shape[2])),
    ]


def _moment(still: Floats, spread: Floats, power: int) -> Floats:
    return np.asarray((still**power).mean(axis=2) / np.maximum(spread, 1e-6) ** power)


def _spectrum(still: Floats) -> list[Floats]:
    """Log power in each band; the strongest frequency and its share of the power."""
    power = np.abs(np.fft.rfft(still, axis=2))[:, :, 1:] ** 2
    if not power.shape[2]:
        return []
    total = power.sum(axis=2)
    share = power / np.maximum(total, 1e-9)[:, :, None]
    bands = _pooled(np.log(power + 1e-6), min(BANDS, power.shape[2]))
    strongest, entropy = power.argmax(axis=2) / power.shape[2], -(share * np.log(share + 1e-12)).sum(axis=2)
    return [*bands, strongest, share.max(axis=2), entropy]


def _pooled(values: Floats, parts: int) -> list[Floats]:
    """Average `parts` stretches along the last axis."""
    edges = np.linspace(0, values.shape[2], parts + 1).astype(int)
    return [values[:, :, start:stop].mean(axis=2) for start, stop in pairwise(edges)]


def _correlations(still: Floats, spread: Floats) -> Floats:
    first, second = np.triu_indices(still.shape[1], 1)
    first, second = first[:MOST_PAIRS], second[:MOST_PAIRS]
    shared = (still[:, first] * still[:, second]).mean(axis=2)
    return np.asarray(shared / np.maximum(spread[:, first] * spread[:, second], 1e-6))
