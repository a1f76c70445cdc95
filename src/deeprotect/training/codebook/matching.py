"""Feature matching: mixtures are moved until their features are the means of those of the windows mixed in them.

A mixture of signals whose phases differ is rougher than each, and its magnitudes and peaks are those of noise.
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
QUIET = 0.02
"""Amplitudes well below this, in values between 0 and 1, are all as good as none."""
RELATIVE = 0.1
"""Of a feature's usual spread, the least that is taken for the spread of one that hardly varies."""
FITTED_ON, AT_ONCE = 2000, 1 << 21
"""Windows from which spreads are known, and values of series that are worked on in one go."""


WEIGHT, SURE = 0.1, 3.0
FITTING, PENALTY = 150, 1e-3


@dataclass(frozen=True)
class Linear:
    """Reads classes off some features."""

    weight: Tensor
    bias: Tensor

    @classmethod
    def of(cls, view: Tensor, targets: Tensor) -> Self:
        known = targets >= 0
        view, targets = view[known].clone(), targets[known]
        counts = torch.bincount(targets)
        weights = torch.where(counts > 0, len(targets) / counts.clamp(min=1), 0.0)
        weight = torch.zeros(view.shape[1], len(counts), requires_grad=True)
        bias = torch.zeros(len(counts), requires_grad=True)
        optimiser = torch.optim.Adam([weight, bias], 0.02)
        for _ in range(FITTING):
            optimiser.zero_grad()
            loss = functional.cross_entropy(view @ weight + bias, targets, weight=weights)
            (loss + PENALTY * (weight**2).sum()).backward()
            optimiser.step()
        return cls(weight.detach(), bias.detach())

    def margin(self, view: Tensor, wanted: int) -> Tensor:
        """Of the wanted class over its best rival, in logarithms of odds."""
        scores = view @ self.weight + self.bias
        rival = torch.ones(scores.shape[1], dtype=torch.bool)
        rival[wanted] = False
        return scores[:, wanted] - scores[:, rival].amax(dim=1)


@dataclass(frozen=True)
class FeatureMatching:
    """What windows (value = time * channels + channel) are compared by: amplitudes, distributions of values and of
    steps, covariances and course of every channel, and of the magnitudes where channels come in threes."""

    channels: int
    spreads: tuple[Tensor, ...]
    readers: tuple[tuple[Linear, ...], ...] = ()

    @classmethod
    def of(cls, samples: Floats, targets: Sequence[Indices] = ()) -> Self:
        """Spreads from windows (window, time, channel), some of them spread over all.

        targets: of each useful inference the class of each window, -1 where it is unknown.
        """
        rows = np.linspace(0, len(samples) - 1, min(FITTED_ON, len(samples))).astype(np.int64)
        some, channels = torch.tensor(samples[rows], dtype=torch.float32), samples.shape[2]
        with single_thread(), torch.inference_mode():
            features = _features(some.flatten(1), channels)
            deviations = [each.std(dim=0, correction=0) for each in features]
        spreads = tuple(each + RELATIVE * each.mean() + 1e-6 for each in deviations)
        with single_thread():
            views = _views(features, spreads, channels)
            readers = [[Linear.of(view, torch.tensor(each[rows])) for view in views] for each in targets]
        return cls(channels, spreads, tuple(tuple(each) for each in readers))

    def places(self, flat: Floats) -> Floats:
        """Where windows lie by course and amplitudes, whatever their phases: (window, feature)."""
        with single_thread(), torch.inference_mode():
            parts = [_place(part, self.channels) for part in self._in_parts(torch.tensor(flat, dtype=torch.float32))]
        return np.asarray(torch.cat(parts).double().numpy())

    def match(self, mixed: Floats, parts: Floats, wanted: Sequence[int] = ()) -> Floats:
        """Mixtures (row, value) with the mean features of their parts (row, part, value), in the public range."""
        with single_thread():
            rows = max(1, AT_ONCE // max(1, parts.shape[1] * parts.shape[2]))
            found = [
                self._matched(torch.tensor(mixed[start : start + rows]), torch.tensor(parts[start : start + rows]), wanted)
                for start in range(0, len(mixed), rows)
            ]
        return np.concatenate(found) if found else mixed

    def _in_parts(self, flat: Tensor) -> tuple[Tensor, ...]:
        return torch.split(flat, max(1, AT_ONCE // max(1, flat.shape[1])))

    def _matched(self, mixed: Tensor, parts: Tensor, classes: Sequence[int]) -> Floats:
        with torch.inference_mode():
            wanted = [each.mean(dim=1) for each in _features(parts.float(), self.channels)]
        wanted = [each.clone() for each in wanted]
        windows = mixed.float().requires_grad_()
        optimiser = torch.optim.Adam([windows], RATE)
        for step in range(STEPS):
            optimiser.param_groups[0]["lr"] = RATE + (LAST_RATE - RATE) * step / STEPS
            optimiser.zero_grad()
            found = _features(windows.clamp(0, 1), self.channels)
            terms = zip(found, wanted, self.spreads, strict=True)
            apart = torch.stack([(((a - b) / spread) ** 2).mean(dim=1).sum() for a, b, spread in terms]).sum()
            views = _views(found, self.spreads, self.channels) if classes else []
            doubts = [
                functional.softplus(SURE - reader.margin(view, number)).sum()
                for readers, number in zip(self.readers, classes, strict=True)
                for reader, view in zip(readers, views, strict=True)
            ]
            (apart + WEIGHT * sum(doubts, start=torch.zeros(()))).backward()
            optimiser.step()
        return np.asarray(windows.detach().clamp(0, 1).double().numpy())


def _series(windows: Tensor, channels: int) -> Tensor:
    """(…, series, time): the channels about the middle of their ranges, and magnitudes of each three."""
    samples = windows.unflatten(-1, (-1, channels)) - 0.5
    if channels % 3 == 0:
        axes = samples.unflatten(-1, (-1, 3))
        samples = torch.cat([samples, ((axes**2).sum(dim=-1) + 1e-6).sqrt()], dim=-1)
    return samples.transpose(-1, -2)


def _amplitudes(series: Tensor) -> Tensor:
    return torch.fft.rfft(series, dim=-1).abs()[..., 1:] / series.shape[-1] ** 0.5


def _course(series: Tensor) -> Tensor:
    return functional.adaptive_avg_pool1d(series.flatten(0, -3), min(COURSE, series.shape[-1])).unflatten(
        0, series.shape[:-2]
    )


def _place(windows: Tensor, channels: int) -> Tensor:
    series = _series(windows, channels)
    return torch.cat([_course(series).flatten(1), _amplitudes(series).flatten(1)], dim=1)


def _features(windows: Tensor, channels: int) -> list[Tensor]:
    series = _series(windows, channels)
    still = series - series.mean(dim=-1, keepdim=True)
    found = [
        (_amplitudes(series) + QUIET).log(),
        series.sort(dim=-1).values,
        series.diff(dim=-1).sort(dim=-1).values,
        still @ still.transpose(-1, -2) / series.shape[-1],
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
