"""Feature matching: a mixture is changed until its features are the mean of those of the windows mixed in it.

A weighted sum of signals whose phases differ has other spectra, magnitudes and peaks than each of them, so apps that
compute these misread it. Linear classifiers on each kind of feature then move it away from other classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import Indices
from deeprotect.training.trainer import single_thread

STEPS, RATE, LAST_RATE = 60, 0.02, 0.002
"""Steps of Adam, and its rates, which fall evenly."""
COURSE = 8
"""Stretches of a window whose means are its course."""
LAGS = (0, 1, 2, 4, 8, 16)
"""Of covariances, in samples."""
QUIET = 0.02
"""Amplitudes well below this, in values between 0 and 1, are all as good as none."""
RELATIVE = 0.1
"""Of a feature's usual spread, the least that is taken for the spread of one that hardly varies."""
FITTED_ON, AT_ONCE = 2000, 1 << 21
"""Windows from which spreads are known, and values of series that are worked on in one go."""


WEIGHT, SURE = 0.06, 4.0
"""Weight of a classifier's doubt beside the distance of features, and log-odds of the intended class that suffice."""
FITTING, FITTING_RATE, PENALTY = 150, 0.02, 2e-2
"""Steps of Adam for a classifier, their rate, and the weight of its squared coefficients."""


@dataclass(frozen=True)
class LinearClassifier:
    """Multinomial logistic regression on one kind of feature; classes count alike, however frequent they are."""

    weight: Tensor
    bias: Tensor

    @classmethod
    def of(cls, features: Tensor, targets: Tensor) -> Self:
        """targets: each row's class, -1 where it is unknown."""
        known = targets >= 0
        features, targets = features[known], targets[known]
        counts = torch.bincount(targets, minlength=1)
        balance = torch.where(counts > 0, len(targets) / counts.clamp(min=1), 0.0)
        weight = torch.zeros(features.shape[1], len(counts), requires_grad=True)
        bias = torch.zeros(len(counts), requires_grad=True)
        optimiser = torch.optim.Adam([weight, bias], FITTING_RATE)
        for _ in range(FITTING):
            optimiser.zero_grad()
            loss = functional.cross_entropy(features @ weight + bias, targets, weight=balance)
            (loss + PENALTY * (weight**2).sum()).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        return cls(weight.detach(), bias.detach())

    def doubt(self, features: Tensor, wanted: int) -> Tensor:
        """How far the log-odds of the wanted class against its best rival are from `SURE`, smoothly; summed."""
        scores = features @ self.weight + self.bias
        if scores.shape[1] < 2:
            return scores.new_zeros(())
        rivals = torch.ones(scores.shape[1], dtype=torch.bool)
        rivals[wanted] = False
        return functional.softplus(SURE - scores[:, wanted] + scores[:, rivals].amax(dim=1)).sum()


@dataclass(frozen=True)
class FeatureMatching:
    """Features of windows (value = time * channels + channel): amplitudes, distributions of values and of steps,
    covariances and course of every channel, and of magnitudes where the channels come in threes.

    spreads: of each kind of feature, the standard deviations over training windows.
    classifiers: for each useful inference, one for each kind of feature.
    """

    channels: int
    spreads: tuple[Tensor, ...]
    classifiers: tuple[tuple[LinearClassifier, ...], ...]

    @classmethod
    def of(cls, samples: Floats, targets: Sequence[Indices] = ()) -> Self:
        """From windows (window, time, channel), of which some stand for all.

        targets: for each useful inference, the class of each window, -1 where it is unknown.
        """
        rows = np.linspace(0, len(samples) - 1, min(FITTED_ON, len(samples))).astype(np.int64)
        flat, channels = torch.tensor(samples[rows], dtype=torch.float32).flatten(1), samples.shape[2]
        with single_thread():
            features = _features(flat, channels)
            deviations = [each.std(dim=0, correction=0) for each in features]
            spreads = tuple(each + RELATIVE * each.mean() + 1e-6 for each in deviations)
            views = _views(features, spreads, channels)
            numbers = [torch.tensor(each[rows]) for each in targets]
            fitted = tuple(tuple(LinearClassifier.of(view, each) for view in views) for each in numbers)
        return cls(channels, spreads, fitted)

    def places(self, flat: Floats) -> Floats:
        """Where windows lie by course and amplitudes, whatever their phases: (window, feature)."""
        with single_thread(), torch.inference_mode():
            parts = [_place(part, self.channels) for part in self._in_parts(torch.tensor(flat, dtype=torch.float32))]
        return np.asarray(torch.cat(parts).double().numpy())

    def match(self, mixed: Floats, parts: Floats, wanted: Sequence[int]) -> Floats:
        """Mixtures (row, value) with the mean features of their parts (row, part, value), in the public range.

        wanted: for each useful inference, the class that they are to show.
        """
        with single_thread():
            rows = max(1, AT_ONCE // max(1, parts.shape[1] * parts.shape[2]))
            found = [
                self._matched(
                    torch.tensor(mixed[start : start + rows]), torch.tensor(parts[start : start + rows]), wanted
                )
                for start in range(0, len(mixed), rows)
            ]
        return np.concatenate(found) if found else mixed

    def _in_parts(self, flat: Tensor) -> tuple[Tensor, ...]:
        return torch.split(flat, max(1, AT_ONCE // max(1, flat.shape[1])))

    def _matched(self, mixed: Tensor, parts: Tensor, wanted: Sequence[int]) -> Floats:
        targets = [each.mean(dim=1) for each in _features(parts.float(), self.channels)]
        windows = mixed.float().requires_grad_()
        optimiser = torch.optim.Adam([windows], RATE)
        for step in range(STEPS):
            optimiser.param_groups[0]["lr"] = RATE + (LAST_RATE - RATE) * step / STEPS
            optimiser.zero_grad()
            self._loss(windows.clamp(0, 1), targets, wanted).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        return np.asarray(windows.detach().clamp(0, 1).double().numpy())

    def _loss(self, windows: Tensor, targets: Sequence[Tensor], wanted: Sequence[int]) -> Tensor:
        features = _features(windows, self.channels)
        kinds = zip(features, targets, self.spreads, strict=True)
        distance = torch.stack([(((have - want) / spread) ** 2).mean(dim=1).sum() for have, want, spread in kinds])
        views = _views(features, self.spreads, self.channels)
        doubts = [
            classifier.doubt(view, number)
            for classifiers, number in zip(self.classifiers, wanted, strict=True)
            for classifier, view in zip(classifiers, views, strict=True)
        ]
        return distance.sum() + WEIGHT * torch.stack(doubts).sum()


def _series(windows: Tensor, channels: int) -> Tensor:
    """(…, series, time): the channels about the middle of their ranges, and magnitudes of each three."""
    samples = torch.unflatten(windows, -1, (-1, channels)) - 0.5
    if channels % 3 == 0:
        axes = torch.unflatten(samples, -1, (-1, 3))
        samples = torch.cat([samples, ((axes**2).sum(dim=-1) + 1e-6).sqrt()], dim=-1)
    return samples.transpose(-1, -2)


def _amplitudes(series: Tensor) -> Tensor:
    length: int = series.shape[-1]
    amplitudes: Tensor = torch.fft.rfft(series, dim=-1).abs()[..., 1:] / length**0.5
    return amplitudes


def _course(series: Tensor) -> Tensor:
    rows = series.flatten(0, -2)[:, None]
    means: Tensor = functional.adaptive_avg_pool1d(rows, min(COURSE, series.shape[-1]))
    return means.reshape(*series.shape[:-1], -1)


def _place(windows: Tensor, channels: int) -> Tensor:
    series = _series(windows, channels)
    return torch.cat([_course(series).flatten(1), _amplitudes(series).flatten(1)], dim=1)


def _covariance(still: Tensor, lag: int) -> Tensor:
    """Of each two series, the second `lag` samples later."""
    length = still.shape[-1]
    products: Tensor = still[..., : length - lag] @ still[..., lag:].transpose(-1, -2)
    return products / length


def _features(windows: Tensor, channels: int) -> list[Tensor]:
    series = _series(windows, channels)
    still = series - series.mean(dim=-1, keepdim=True)
    found = [
        (_amplitudes(series) + QUIET).log(),
        series.sort(dim=-1).values,
        series.diff(dim=-1).sort(dim=-1).values,
        torch.cat([_covariance(still, lag) for lag in LAGS if lag < series.shape[-1]], dim=-1),
        _course(series),
    ]
    return [each.flatten(-2) for each in found if each.numel()]


def _views(features: Sequence[Tensor], spreads: Sequence[Tensor], channels: int) -> list[Tensor]:
    """Scaled features, each kind by itself; of axes and of magnitudes apart."""
    scaled = [each / spread for each, spread in zip(features, spreads, strict=True)]
    if channels % 3 != 0:
        return scaled
    views = []
    for each in scaled:
        border = each.shape[1] * 3 // 4
        views += [each[:, :border], each[:, border:]]
    return views
