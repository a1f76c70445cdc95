"""A protector in the laboratory: what it learnt, before it is packed into a bundle."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor, nn

from deeprotect.privacy.entropy import Entropy
from deeprotect.privacy.mechanism import Mechanism
from deeprotect.signals.schema import Floats
from deeprotect.training.minimiser import Minimiser


class Clip(nn.Module):
    """Noisy windows back into the public range: post-processing."""

    def forward(self, window: Tensor) -> Tensor:
        return window.clamp(0.0, 1.0)


@dataclass(frozen=True)
class Protection:
    """Encoder, mechanism and decoder on flat scaled windows (window, value).

    `noise_on` says what the code is: the minimiser's features, or the window itself; in the second case the
    minimiser, if any, comes after the noise (post-processing).
    """

    mechanism: Mechanism
    minimiser: Minimiser | None
    dim: int
    noise_on_features: bool

    def encode(self, private: Floats) -> Floats:
        return self.minimiser.transform(private) if self.minimiser and self.noise_on_features else private

    def decode(self, noisy_code: Floats) -> Floats:
        if self.minimiser is None:
            return np.clip(noisy_code, 0.0, 1.0)
        features = noisy_code if self.noise_on_features else self.minimiser.transform(np.clip(noisy_code, 0.0, 1.0))
        return np.clip(self.minimiser.inverse_transform(features), 0.0, 1.0)

    def release(self, private: Floats, *, entropy: Entropy) -> Floats:
        """For measuring only; a real release goes through the pipe and its ledger."""
        return self.decode(self.mechanism.privatise(self.encode(private), entropy=entropy))

    def encoder(self) -> nn.Module:
        """The same as `encode`, as a network."""
        return self.minimiser.encoder() if self.minimiser and self.noise_on_features else nn.Identity()

    def decoder(self) -> nn.Module:
        """The same as `decode`, as a network."""
        if self.minimiser is None:
            return Clip()
        if self.noise_on_features:
            return nn.Sequential(self.minimiser.decoder(), Clip())
        return nn.Sequential(Clip(), self.minimiser.encoder(), self.minimiser.decoder(), Clip())
