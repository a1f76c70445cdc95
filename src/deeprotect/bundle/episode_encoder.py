"""Evidence of an episode: what the encoder sees in each of its windows is averaged, then one code is chosen.

Windows of one episode share a draw and nothing with those of another: each average is over one episode alone.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deeprotect.bundle.layers.decision import Argmax
from deeprotect.bundle.network import Network
from deeprotect.signals.schema import Floats


@dataclass(frozen=True, eq=False)
class EpisodeEncoder:
    """Rows to evidence, evidence of several windows to the code of their episode.

    An encoder that ends in a decision gives log-probabilities, and decides on their mean; the mean of any other's
    rows is the code itself.
    """

    evidence: Network
    decision: Argmax | None

    @classmethod
    def of(cls, encoder: Network) -> Self:
        last = encoder.layers[-1] if encoder.layers else None
        if not isinstance(last, Argmax):
            return cls(encoder, None)
        return cls(Network(encoder.layers[:-1], encoder.inputs), last)

    def encode(self, rows: Floats) -> Floats:
        """Evidence (row, value), row by row."""
        rows = self.evidence(rows)
        return rows if self.decision is None else self.decision.log_probabilities(rows)

    def pool(self, evidence: Floats, counts: NDArray[np.int64]) -> Floats:
        """Codes (episode, value) of episodes of so many neighbouring rows each; every count is at least 1."""
        with np.errstate(all="ignore"):  # total in its input, as networks are
            mean = np.add.reduceat(evidence, np.cumsum(counts) - counts) / counts[:, None]
        return mean if self._choice is None else self._choice(mean)

    @cached_property
    def _choice(self) -> Network | None:
        """The decision as a network: its shapes are checked once, and not for each batch."""
        return None if self.decision is None else Network((self.decision,), self.evidence.outputs)
