"""What an attacker takes from a bundle: the numbers of a channel protector, as its files state them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
import torch
from torch import nn

from deeprotect.privacy.channel import Channel
from deeprotect.signals.schema import Floats
from deeprotect.training.coder import PiecewiseLinearEncoding, Summary
from deeprotect.training.networks import Standardise, Unflatten
from deeprotect.training.protection import Protection
from deeprotect.training.windows import Indices

Kind = TypeVar("Kind", bound=nn.Module)


@dataclass(frozen=True)
class Exposed:
    """Numbers of a bundle whose one useful inference has these `classes`, a code for each.

    coder: flat windows to a score for each class. mean, scale: what it standardises by. edges: (edge, level).
    outputs: (code, variant, value). counts: (class, code) of each sensitive inference, under `named` only.
    """

    classes: tuple[str, ...]
    coder: nn.Module
    mean: Floats
    scale: Floats
    edges: Floats
    outputs: Floats
    counts: tuple[Indices, ...]
    channels: int

    @classmethod
    def of(cls, protection: Protection, *, classes: Sequence[str], channels: int) -> Self:
        channel = protection.mechanism
        assert isinstance(channel, Channel)
        assert isinstance(protection.encoder, nn.Sequential)
        standardise = _the(Standardise, protection.encoder)
        bins = _the(PiecewiseLinearEncoding, protection.encoder)
        outputs = next(iter(protection.decoder.buffers())).double().numpy()
        return cls(
            tuple(classes),
            protection.encoder[0],
            standardise.mean.double().numpy(),
            standardise.scale.double().numpy(),
            torch.cat([bins.low, bins.low[-1:] + bins.width[-1:]]).double().numpy(),
            outputs.reshape(len(classes), channel.variants, -1),
            tuple(secret.counts for secret in channel.secrets),
            channels,
        )

    def log_probabilities(self, flat: Floats) -> Floats:
        """The coder's, before the largest is taken: (window, class)."""
        with torch.inference_mode():
            scores = self.coder(torch.tensor(flat, dtype=torch.float32)).double()
        return np.asarray(torch.log_softmax(scores, dim=-1).numpy())

    def levels(self, flat: Floats) -> Floats:
        """Mean, spread, least and most of each channel, as the coder sees them: (window, level)."""
        standardised = torch.tensor((flat - self.mean) / self.scale, dtype=torch.float32)
        summary = Summary(flat.shape[1] // self.channels)(Unflatten(self.channels)(standardised))
        return np.asarray(summary[:, : self.edges.shape[1]].double().numpy())


def _the(kind: type[Kind], network: nn.Module) -> Kind:
    return next(module for module in network.modules() if isinstance(module, kind))
