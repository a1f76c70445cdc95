"""The default feature extractor: an autoencoder whose few bounded features carry the useful inferences."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from deeprotect.errors import InputError
from deeprotect.training.feature_extractors.feature_extractor import FeatureExtractor, Floats
from deeprotect.training.labelled_windows import Targets
from deeprotect.training.networks import Restore, Standardise, dense, initialise
from deeprotect.training.trainer import Schedule, TrainingJob, hold_out, train

Loss = Callable[[Tensor, Tensor], Tensor]


def ridge(scores: Tensor, codes: Tensor) -> Tensor:
    """Squared distance to ±1 targets (paper, ridge loss), per row."""
    signs = 2.0 * functional.one_hot(codes, scores.shape[-1]) - 1.0
    return (scores - signs).square().sum(dim=-1)


def softmax(scores: Tensor, codes: Tensor) -> Tensor:
    """Cross-entropy, per row."""
    return -functional.log_softmax(scores, dim=-1).gather(-1, codes[:, None]).squeeze(-1)


def hinge(scores: Tensor, codes: Tensor) -> Tensor:
    """Multiclass hinge loss, per row: the best wrong class must stay one below the right one (Crammer and Singer,
    2001)."""
    right = scores.gather(-1, codes[:, None])
    rivals = scores + 1.0 - right - 2.0 * functional.one_hot(codes, scores.shape[-1])
    return rivals.amax(dim=-1).clamp(min=0.0)


def misread(scores: Tensor, codes: Tensor) -> Tensor:
    """1 for each row whose best class is wrong; a score for early stopping, not for descent."""
    return (scores.argmax(dim=-1) != codes).to(scores.dtype)


LOSSES: dict[str, Loss] = {"ridge": ridge, "softmax": softmax, "hinge": hinge}


def useful_loss(loss: Loss, scores: Tensor, codes: Tensor, *, counts: Sequence[int]) -> Tensor:
    """Mean loss over the labelled rows of each inference, then over inferences; scores put all classes side by side."""
    total = scores.new_zeros(())
    for column, block in enumerate(torch.split(scores, list(counts), dim=-1)):
        known = codes[:, column] >= 0
        rows = loss(block, codes[:, column].clamp(min=0))
        total = total + (rows * known).sum() / known.sum().clamp(min=1)
    return total / max(1, len(counts))


JITTER = 0.1
"""Standard deviations of noise on a reader's training windows: its gradients should follow shape, not noise."""
GAIN = 5.0
"""Gain of the reader's scores: bounded features would need large weights to be sure of a class."""
WINDOWS = 0.3
"""Weight of predictions from rebuilt windows against those from features, which teach the encoder better."""


class Networks(nn.Module):
    """The networks to train; all weights are drawn from one generator."""

    def __init__(
        self, windows: Floats, features: int, *, outputs: int, hidden: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        values, half = windows.shape[1], max(1, hidden // 2)
        self.standardise = Standardise(windows)
        # The encoder has the hardest task; half its width is enough for the others.
        self.reader: nn.Module = dense([values, half, half, outputs]) if outputs else nn.Identity()
        self.encoder = nn.Sequential(dense([values, hidden, hidden, features]), nn.Tanh())
        self.decoder = dense([features, half, half, values])
        self.head: nn.Module = dense([features, outputs]) if outputs else nn.Identity()
        initialise(self, generator)


class Reading(nn.Module):
    """Trains a reader to predict the useful labels from raw windows."""

    def __init__(self, networks: Networks, *, counts: Sequence[int]) -> None:
        super().__init__()
        self.standardise, self.reader, self._counts = networks.standardise, networks.reader, tuple(counts)

    def forward(self, windows: Tensor, codes: Tensor, noise: Tensor) -> Tensor:
        scores = self.reader(self.standardise(windows) + JITTER * noise)
        return useful_loss(softmax if self.training else misread, scores, codes, counts=self._counts)


class Minimising(nn.Module):
    """Trains encoder and decoder to rebuild the window and to keep its useful labels predictable, before and after
    decoding.

    In evaluation mode the useful loss becomes the share of misclassified labels: the cross-entropy of an overconfident
    network rises long before its accuracy drops, and would stop training too early.
    """

    def __init__(self, networks: Networks, loss: Loss, *, counts: Sequence[int], mu: float, noise: float) -> None:
        super().__init__()
        self.networks = networks
        # The reader stands in for an app that was trained on raw windows and never changes.
        networks.reader.requires_grad_(requires_grad=False)
        self._loss, self._counts, self._mu, self._noise = loss, tuple(counts), mu, noise

    def forward(self, windows: Tensor, codes: Tensor, noise: Tensor) -> Tensor:
        wanted = self.networks.standardise(windows)
        features = self.networks.encoder(wanted) + self._noise * noise
        rebuilt = self.networks.decoder(features)
        error: Tensor = (rebuilt - wanted).square().mean()
        return error + self._mu * self._useful(features, rebuilt, codes) if self._counts else error

    def _useful(self, features: Tensor, rebuilt: Tensor, codes: Tensor) -> Tensor:
        on_features, on_windows = (self._loss, softmax) if self.training else (misread, misread)
        from_features = useful_loss(on_features, GAIN * self.networks.head(features), codes, counts=self._counts)
        from_windows = useful_loss(on_windows, self.networks.reader(rebuilt), codes, counts=self._counts)
        return from_features + WINDOWS * from_windows


@dataclass(eq=False, repr=False)
class Autoencoder(FeatureExtractor):
    """Features lie in [-1, 1]; the loss is reconstruction + mu * (useful labels unread in features and in windows).

    The reader of rebuilt windows is a classifier trained on raw windows and then frozen: it stands for the
    unmodified app. Sensitive inferences play no part (paper, section on data minimisation). `noise` is the
    standard deviation of noise on the features during training, so that they keep apart what must be told apart.

    Examples:
        >>> import numpy as np
        >>> labels = np.repeat(["rest", "walk"], 50)
        >>> windows = np.random.default_rng(0).random((100, 30)) * np.where(labels == "walk", 1.0, 0.1)[:, None]
        >>> features = Autoencoder(n_features=3, max_epochs=1, random_state=0).fit(windows, labels).transform(windows)
        >>> features.shape, bool(np.abs(features).max() <= 1)
        ((100, 3), True)
    """

    n_features: int = 7
    _: KW_ONLY
    loss: str = "softmax"
    mu: float = 1.0
    hidden: int = 256
    noise: float = 0.05
    max_epochs: int = 60
    max_steps: int = 4000
    batch_size: int = 256
    learning_rate: float = 5e-3
    patience: int = 20
    held_out: float = 0.1
    random_state: Any = None

    def _learn(self, windows: Floats, targets: Targets) -> tuple[nn.Module, nn.Module]:
        if self.loss not in LOSSES:
            raise InputError(f"loss is one of {', '.join(LOSSES)}")
        schedule = Schedule(**{field.name: getattr(self, field.name) for field in fields(Schedule)})
        features, counts, generator = self._n_features_out, targets.counts, self._generator()
        networks = Networks(windows, features, outputs=sum(counts), hidden=self.hidden, generator=generator)
        rows = torch.tensor(windows, dtype=torch.float32), torch.tensor(targets.codes)
        aside = torch.tensor(hold_out(len(windows), self.held_out))
        seen, held_out = ((rows[0][part], rows[1][part]) for part in (~aside, aside))
        job = partial(TrainingJob, train=seen, held_out=held_out, generator=generator)
        if counts:
            train(job(Reading(networks, counts=counts), noise=windows.shape[1]), schedule)
        minimising = Minimising(networks, LOSSES[self.loss], counts=counts, mu=self.mu, noise=self.noise)
        train(job(minimising, noise=features), schedule)
        encoder = nn.Sequential(networks.standardise, networks.encoder)
        return encoder, nn.Sequential(networks.decoder, Restore(networks.standardise))
