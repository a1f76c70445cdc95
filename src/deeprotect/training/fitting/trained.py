"""A protector that was just trained: the layers and the mechanism that a bundle will hold."""

from dataclasses import dataclass
from typing import Any

from deeprotect.bundle.consistency import Decoder
from deeprotect.bundle.network import Network
from deeprotect.privacy.entropy import Entropy
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.signals.schema import Floats


@dataclass(frozen=True)
class TrainedProtector:
    """Encoder, mechanism and decoder on flat scaled windows (window, value); `made_of` describes what was learnt."""

    mechanism: Mechanism
    encoder: Network
    decoder: Decoder
    made_of: dict[str, Any]

    def encode(self, private: Floats) -> Floats:
        return self.encoder(private)

    def decode(self, noisy_code: Floats) -> Floats:
        return self.decoder(noisy_code)

    def release(self, private: Floats, *, entropy: Entropy) -> Floats:
        """For measuring only; a real release goes through the pipe and its ledger."""
        return self.decode(self.mechanism.privatise(self.encode(private), entropy=entropy))
