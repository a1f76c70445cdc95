"""What is timed: a protector like those that training makes, and recordings for it; made up, for numbers take as long
whatever they mean.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from deeprotect.bundle import Bundle
from deeprotect.bundle.layers.rounding import Argmax
from deeprotect.bundle.manifest import TrainingRecord
from deeprotect.bundle.network import Network, OutputTable
from deeprotect.policy import Policy
from deeprotect.privacy.channel.design import Design, make
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.signals.schema import Floats

RATE_HZ, LOW, HIGH = 50, -4.0, 4.0
CODES, VARIANTS, EPSILON = 7, 16, 5.0
SAMPLES = 1000
RESOLUTION = (HIGH - LOW) / 2**16
"""Sensors give 16 bits."""


@dataclass(frozen=True)
class Shape:
    """A stream and its code: by default a second of a phone's accelerometer and gyroscope, and seven activities."""

    channels: int = 6
    samples: int = 50
    codes: int = CODES

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"channel_{number}" for number in range(self.channels))

    def windows(self, count: int) -> Floats:
        """Scaled windows (window, time, channel)."""
        return np.random.default_rng(0).uniform(size=(count, self.samples, self.channels))


def recording(rows: int, shape: Shape, *, labelled: bool = False) -> pa.Table:
    """A long walk, one row per sample; with labels that can be told from it."""
    generator, seconds = np.random.default_rng(0), np.arange(rows) / RATE_HZ
    code = (np.arange(rows) // (8 * shape.samples)) % shape.codes
    swing = {
        name: np.sin(seconds * (1 + code) + place) * (1 + 0.1 * code) + 0.3 * generator.normal(size=rows)
        for place, name in enumerate(shape.names)
    }
    columns = {name: np.rint(values / RESOLUTION) * RESOLUTION for name, values in swing.items()}
    labels = {"activity": np.char.add("a", code.astype(str))} if labelled else {}
    return pa.table({"time": seconds, **columns, **labels})


def protector(shape: Shape, *, every: str | None = None, listen: int | None = None) -> Bundle:
    """The default network before training, its code through a channel, and a table of public windows."""
    mechanism = randomised_response(shape.codes, variants=VARIANTS)
    if every is not None:
        mechanism = replace(mechanism, event=replace(mechanism.event, per="episode"))
    public = np.random.default_rng(1).uniform(size=(mechanism.public_outputs, shape.samples * shape.channels))
    return Bundle.make(
        policy(shape, every=every, listen=listen),
        mechanism,
        encoder=encoder(shape),
        decoder=OutputTable.of(public),
        feature_extractor={"name": "code book"},
        training=TrainingRecord(fingerprint="0" * 64, rows=0, windows=0, recordings=0, classes={}),
        results=[],
        created="2026-01-01T00:00:00+00:00",
        made_with={},
    )


def encoder(shape: Shape) -> Network:
    """The coder's layers and its decision."""
    from deeprotect.training.export import COARSE, to_network

    scores = to_network(coder(shape), shape.windows(SAMPLES).reshape(SAMPLES, -1), COARSE)
    return Network((*scores.layers, Argmax((shape.codes,), np.arange(shape.codes, dtype=np.int32))), scores.inputs)


def coder(shape: Shape) -> Any:
    """The default network as a torch module, with weights of no meaning."""
    import torch
    from torch import nn

    from deeprotect.training.codebook.coder import Coder
    from deeprotect.training.networks import Standardise, initialise

    rows = shape.windows(SAMPLES).reshape(SAMPLES, -1)
    standardise = Standardise(rows)
    module = Coder(standardise(torch.tensor(rows, dtype=torch.float32)), shape.channels, classes=shape.codes)
    return nn.Sequential(standardise, initialise(module, torch.Generator().manual_seed(0))).eval()


def randomised_response(codes: int, *, variants: int = 1) -> DiscreteChannel:
    """The true code with odds of e^ε to one against each other code."""
    odds = np.where(np.eye(codes, dtype=bool), np.exp(EPSILON), 1.0)
    probabilities = odds / odds.sum(axis=1, keepdims=True)
    plan = Design(probabilities, 1.0 - np.eye(codes), np.full(codes, 1 / codes), EPSILON)
    return make(plan, variants=variants)


def policy(shape: Shape, *, every: str | None = None, listen: int | None = None) -> Policy:
    hold = {} if every is None else {"every": every, "listen": listen}
    channels = {name: {"unit": "g", "range": [LOW, HIGH], "resolution": RESOLUTION} for name in shape.names}
    return Policy.from_tables(
        {
            "version": 1,
            "stream": {"rate_hz": RATE_HZ, "window": shape.samples, "channels": channels},
            "inferences": {"useful": ["activity"]},
            "privacy": {"epsilon": EPSILON, "mechanism": "channel", **hold},
        }
    )
