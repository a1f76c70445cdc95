"""The numbers of a channel protector that an attacker takes from its bundle's files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import log_softmax

from deeprotect.bundle.layers.layer import Layer
from deeprotect.bundle.layers.products import Statistics
from deeprotect.bundle.layers.rounding import Quantise
from deeprotect.bundle.layers.structure import Concatenation, Unflatten
from deeprotect.bundle.network import Network, OutputTable
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.signals.schema import Floats
from deeprotect.training.codebook.coder import SCORE_BITS
from deeprotect.training.fitting.trained import TrainedProtector


@dataclass(frozen=True)
class Exposed:
    """Numbers of a bundle whose one useful inference has these `classes`, a code for each.

    coder: flat windows to a score for each class. mean, scale: what it standardises by. edges: (edge, level).
    outputs: (code, variant, value).
    """

    classes: tuple[str, ...]
    coder: Network
    mean: Floats
    scale: Floats
    edges: Floats
    outputs: Floats
    channels: int

    @classmethod
    def of(cls, protection: TrainedProtector, *, classes: Sequence[str], channels: int) -> Self:
        channel, layers, table = protection.mechanism, protection.encoder.layers, protection.decoder
        assert isinstance(channel, DiscreteChannel)
        assert isinstance(table, OutputTable)
        standardise, bins = (layer for layer in _all(layers) if isinstance(layer, Quantise))
        shift, factor = (each.astype(np.float64)[0, :, 0] for each in standardise.ramps)
        low, slope = (each.astype(np.float64)[1:, :, 0] for each in bins.ramps)  # the first one spans all the others
        return cls(
            tuple(classes),
            Network(layers[:-1], protection.encoder.inputs),  # the last one takes the largest score
            shift,
            1 / factor,
            np.concatenate([low, low[-1:] + bins.clip.high / slope[-1:]]),
            table.windows.reshape(len(classes), channel.variants, -1),
            channels,
        )

    def log_probabilities(self, flat: Floats) -> Floats:
        """The coder's, before the largest is taken: (window, class)."""
        return np.asarray(log_softmax(self.coder(flat) / 2**SCORE_BITS, axis=1))

    def levels(self, flat: Floats) -> Floats:
        """Mean, deviation, least and largest value of each channel, as the coder sees them: (window, level)."""
        first = next(layer for layer in self.coder.layers if isinstance(layer, Quantise))
        return Network((first, Unflatten(self.channels), Statistics()), flat.shape[1])(flat)


def _all(layers: Sequence[Layer]) -> Iterator[Layer]:
    for layer in layers:
        yield layer
        for branch in layer.branches if isinstance(layer, Concatenation) else ():
            yield from _all(branch)
