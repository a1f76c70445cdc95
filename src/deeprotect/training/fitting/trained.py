"""A protector that was just trained: the layers and the mechanism that a bundle will hold."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deeprotect.bundle.consistency import Decoder
from deeprotect.bundle.episode_encoder import EpisodeEncoder
from deeprotect.bundle.network import Network
from deeprotect.privacy.entropy import Entropy
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.signals import Hold
from deeprotect.signals.episodes import Counts
from deeprotect.signals.schema import Floats


@dataclass(frozen=True)
class TrainedProtector:
    """Encoder, mechanism and decoder on flat scaled windows (window, value); `made_of` describes what was learnt."""

    mechanism: Mechanism
    encoder: Network
    decoder: Decoder
    made_of: dict[str, Any]
    hold: Hold = field(default_factory=Hold)

    def encode(self, private: Floats, counts: Counts | None = None) -> Floats:
        """Codes of episodes of so many windows each; without counts, of each window alone."""
        if self.hold.windows == 1:
            return self.encoder(private)
        counts = np.ones(len(private), dtype=np.int64) if counts is None else counts
        heard, heard_counts = self.hold.heard(counts)
        episodes = EpisodeEncoder.of(self.encoder)
        return episodes.pool(episodes.encode(private[heard]), heard_counts)

    def decode(self, noisy_code: Floats) -> Floats:
        return self.decoder(noisy_code)

    def noisy_codes(self, private: Floats, counts: Counts | None = None, *, entropy: Entropy) -> Floats:
        """One draw for each episode, as often as it has windows."""
        counts = np.ones(len(private), dtype=np.int64) if counts is None else counts
        noisy = self.mechanism.privatise(self.encode(private, counts), entropy=entropy)
        return self.mechanism.repeat(noisy, counts, entropy=entropy)

    def release(self, private: Floats, counts: Counts | None = None, *, entropy: Entropy) -> Floats:
        """For measuring only; a real release goes through the pipe and its ledger."""
        return self.decode(self.noisy_codes(private, counts, entropy=entropy))
