"""A protector that was just trained: the layers and the mechanism that a bundle will hold."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from deeprotect.bundle.consistency import Decoder
from deeprotect.bundle.episode_encoder import EpisodeEncoder
from deeprotect.bundle.network import Network
from deeprotect.privacy.entropy import Entropy
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.release.engine import Released, Request, one, rehearse
from deeprotect.release.ledger import MemoryLedger, Price
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

    @property
    def schema(self) -> "_Scaled":
        """Windows are scaled already."""
        return _Scaled()

    def encode(self, private: Floats) -> Floats:
        """Code (window, coordinate) of each window, or evidence, where draws are held."""
        return self._episodes.encode(private)

    def pool(self, evidence: Floats, counts: Counts) -> Floats:
        """Codes of episodes of so many windows each."""
        return self._episodes.pool(evidence, counts)

    @cached_property
    def _episodes(self) -> EpisodeEncoder:
        return EpisodeEncoder.of(self.encoder, self.hold, self.mechanism.scripts)

    def decode(self, noisy_code: Floats) -> Floats:
        return self.decoder(noisy_code)

    def release(self, private: Floats, counts: Counts | None = None, *, entropy: Entropy) -> Released:
        """Through the engine, to measure; `counts` are windows of each episode, without them one."""
        shown = np.ones(len(private), dtype=np.int64) if counts is None else counts
        heard, looked = self.hold.heard(shown)
        ledger: Any = MemoryLedger(Price.of(self.mechanism))
        bundle: Any = self
        return one(rehearse([Request(bundle, ledger, (), private[heard], looked, shown)], entropy=entropy))


class _Scaled:
    def scale(self, windows: Floats) -> Floats:
        return windows
