"""What the default autoencoder is trained to do, as modules whose forward is the loss of one batch.

In evaluation mode the useful loss becomes the share of misread labels: a network that grows too sure of itself
has a rising cross-entropy long before it reads worse, and would be stopped too early.
"""

from collections.abc import Sequence

from torch import Tensor, nn

from deeprotect.training.losses import Loss, misread, softmax, useful_loss
from deeprotect.training.networks import Standardise

JITTER = 0.1
"""Standard deviations of noise on the windows a reader learns from: its gradients should follow shape, not noise."""


GAIN = 5.0
"""Bounded features need large weights to be sure of a class; this spares the descent the way there."""


WINDOWS = 0.3
"""Weight of labels read from rebuilt windows against labels read from features, which teach the encoder better."""


class Reading(nn.Module):
    """Teach a reader to tell the useful labels from raw windows."""

    def __init__(self, standardise: Standardise, reader: nn.Module, *, counts: Sequence[int]) -> None:
        super().__init__()
        self.standardise = standardise
        self.reader = reader
        self._counts = tuple(counts)

    def forward(self, windows: Tensor, codes: Tensor, noise: Tensor) -> Tensor:
        scores = self.reader(self.standardise(windows) + JITTER * noise)
        return useful_loss(softmax if self.training else misread, scores, codes, counts=self._counts)


class Minimising(nn.Module):
    """Teach encoder and decoder: rebuild the window, and keep its useful labels readable, from features and rebuilt."""

    def __init__(
        self,
        standardise: Standardise,
        encoder: nn.Module,
        *,
        decoder: nn.Module,
        head: nn.Module,
        reader: nn.Module,
        loss: Loss,
        counts: Sequence[int],
        mu: float,
        noise: float,
    ) -> None:
        super().__init__()
        self.standardise = standardise
        self.encoder = encoder
        self.decoder = decoder
        self.head = head
        # The reader stands for an app that was trained on raw windows and will not change.
        self.reader = reader.requires_grad_(requires_grad=False)
        self._loss = loss
        self._counts = tuple(counts)
        self._mu = mu
        self._noise = noise

    def forward(self, windows: Tensor, codes: Tensor, noise: Tensor) -> Tensor:
        wanted = self.standardise(windows)
        features = self.encoder(wanted) + self._noise * noise
        rebuilt = self.decoder(features)
        error: Tensor = (rebuilt - wanted).square().mean()
        return error + self._mu * self._useful(features, rebuilt, codes) if self._counts else error

    def _useful(self, features: Tensor, rebuilt: Tensor, codes: Tensor) -> Tensor:
        on_features, on_windows = (self._loss, softmax) if self.training else (misread, misread)
        from_features = useful_loss(on_features, GAIN * self.head(features), codes, counts=self._counts)
        from_windows = useful_loss(on_windows, self.reader(rebuilt), codes, counts=self._counts)
        return from_features + WINDOWS * from_windows
