"""Evidence of an episode: what the encoder sees in each of its windows is added up, then one code is chosen.

Windows of one episode share a draw and nothing with those of another: each sum is over one episode alone, and exact.
Where the code is a script, sums are over slots, and the script is chosen that they speak for most.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deeprotect.bundle.layers.decision import Argmax
from deeprotect.bundle.network import Network
from deeprotect.privacy.channel.scripts import Scripts
from deeprotect.signals import Hold
from deeprotect.signals.schema import Floats

GRID = 2.0**-24
"""Of features and samples that are averaged: so many windows as are less than 2^28 add up exactly."""


@dataclass(frozen=True, eq=False)
class EpisodeEncoder:
    """Rows to evidence, evidence of several windows to the code of their episode.

    An encoder that ends in a decision gives scores, and decides on their sum: what log-probabilities have beyond
    scores is common to all classes. The mean of any other's rows is the code itself. A `single` window is an episode of
    its own, and the encoder's row is its code.
    """

    evidence: Network
    decision: Argmax | None
    single: bool = False
    scripts: Scripts | None = None

    @classmethod
    def of(cls, encoder: Network, hold: Hold, scripts: Scripts | None) -> Self:
        last = encoder.layers[-1] if encoder.layers else None
        if hold.windows == 1 or not isinstance(last, Argmax):
            return cls(encoder, None, single=hold.windows == 1)
        return cls(Network(encoder.layers[:-1], encoder.inputs), last, scripts=scripts)

    def encode(self, rows: Floats) -> Floats:
        """Evidence (row, value), row by row."""
        rows = self.evidence(rows)
        return rows if self.single or self.decision is not None else np.rint(rows / GRID) * GRID

    def pool(self, evidence: Floats, counts: NDArray[np.int64]) -> Floats:
        """Codes (episode, value) of episodes of so many neighbouring rows each; every count is at least 1."""
        if self.single:
            return evidence
        if self.scripts is not None and self.decision is not None:
            return self._script(self.scripts, self.decision, evidence, counts)
        sums = np.add.reduceat(evidence, np.cumsum(counts) - counts)
        if self.decision is None:
            with np.errstate(all="ignore"):  # total in its input, as networks are
                return sums / counts[:, None]
        return self.decision.decide(sums.T, counts)[:, None].astype(np.float64)

    @staticmethod
    def _script(scripts: Scripts, decision: Argmax, evidence: Floats, counts: NDArray[np.int64]) -> Floats:
        """A short episode says nothing of its last slots."""
        slots, first = -(-counts // scripts.windows), np.cumsum(counts) - counts
        which = np.repeat(np.arange(len(counts)), slots)
        slot = np.arange(len(which)) - np.repeat(np.cumsum(slots) - slots, slots)
        sums = np.add.reduceat(evidence, first[which] + slot * scripts.windows)
        support = np.zeros((len(counts), scripts.slots, scripts.labels), dtype=np.int64)
        support[which, slot] = decision.support(sums.T).T
        return scripts.likeliest(support)[:, None].astype(np.float64)
