"""A protector in the laboratory: what it learnt, before it is packed into a bundle."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from deeprotect.privacy.entropy import Entropy
from deeprotect.privacy.mechanism import Mechanism
from deeprotect.signals.schema import Floats


class Clip(nn.Module):
    """Values back into the public range: post-processing."""

    def forward(self, window: Tensor) -> Tensor:
        return window.clamp(0.0, 1.0)


@dataclass(frozen=True)
class Protection:
    """Encoder, mechanism and decoder on flat scaled windows (window, value); `made_of` describes what was learnt."""

    mechanism: Mechanism
    encoder: nn.Module
    decoder: nn.Module
    dim: int
    made_of: dict[str, Any]

    def encode(self, private: Floats) -> Floats:
        return _run(self.encoder, private)

    def decode(self, noisy_code: Floats) -> Floats:
        return _run(self.decoder, noisy_code)

    def release(self, private: Floats, *, entropy: Entropy) -> Floats:
        """For measuring only; a real release goes through the pipe and its ledger."""
        return self.decode(self.mechanism.privatise(self.encode(private), entropy=entropy))


def _run(network: nn.Module, rows: Floats) -> Floats:
    """As the bundle will run it: in float32."""
    with torch.inference_mode():
        return np.asarray(network(torch.tensor(rows, dtype=torch.float32)).double().numpy())
