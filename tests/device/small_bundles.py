"""Hand-made bundles, small enough for a repository: one per mechanism that devices run."""

from dataclasses import replace

import numpy as np

from deeprotect.bundle import Bundle
from deeprotect.bundle.layers.products import Affine, Convolution, Product, Spectrum, Statistics
from deeprotect.bundle.layers.rounding import Argmax, Clip, Quantise, Round, Scale, Table
from deeprotect.bundle.layers.structure import Concatenation, Flatten, Residual, Unflatten
from deeprotect.bundle.manifest import TrainingRecord
from deeprotect.bundle.network import Network, OutputTable
from deeprotect.policy import Policy
from deeprotect.privacy.box import Box
from deeprotect.privacy.channel.design import design, make
from deeprotect.privacy.mechanisms import laplace

POLICY = """
version = 1
[stream]
rate_hz = 20
window = 4
channels.acc_x = {{ unit = "m/s²", range = [-4.0, 4.0], resolution = 0.01 }}
channels.acc_y = {{ unit = "m/s²", range = [-4.0, 4.0] }}
channels.acc_z = {{ unit = "m/s²", range = [-6.0, 14.0], resolution = 0.1 }}
[inferences]
useful = ["activity"]
[privacy]
epsilon = 2.0
mechanism = "{mechanism}"
{more}
"""
KINDS = ("baseline", "laplace", "laplace held", "channel ldp", "channel held")
CLASSES = ("lie", "sit", "walk")


def small_bundle(kind: str) -> Bundle:
    encoder, decoder, mechanism, policy = _parts(kind)
    mechanism = replace(mechanism, event=replace(mechanism.event, per=policy.hold.per))
    return Bundle.make(
        policy,
        mechanism,
        encoder=encoder,
        decoder=decoder,
        feature_extractor={"name": "none"},
        training=TrainingRecord(
            fingerprint="0" * 64, rows=0, windows=0, recordings=0, classes={"activity": list(CLASSES)}
        ),
        results=[],
        created="2026-01-01T00:00:00+00:00",
        made_with={},
    )


def _parts(kind: str):
    policy = _policy(kind)
    dim, epsilon = policy.schema().dim, policy.privacy.epsilon
    if kind == "baseline":
        return Network((), dim), Network((), dim), laplace.baseline(dim, epsilon), policy
    if kind.startswith("laplace"):
        box = Box((-1.0, 0.1, -0.3), (1.0, 0.7, 2.0))
        mechanism = laplace.certified(box, epsilon)
        sigmoid = Table(np.rint(4096 / (1 + np.exp(-STEPS))).astype(np.int32), -1024)
        decoder = Network((quantise(3), affine(3, dim, shift=9), sigmoid, Scale(12)), box.dim)
        tanh = Table(np.rint(4096 * np.tanh(STEPS)).astype(np.int32), -1024)
        return Network((quantise(dim), affine(dim, 3, shift=9), tanh, Scale(12)), dim), decoder, mechanism, policy
    public = np.random.default_rng(6).uniform(size=(6, dim))
    return coder(dim), OutputTable.of(public), _channel(), policy


def _channel():
    cost = 1.0 - np.eye(4)[:, :3]  # the fourth code is of those who abstain
    plan = design(cost, [0.4, 0.3, 0.2, 0.1], ldp_epsilon=2.0)
    return make(plan, variants=2, codes=(*CLASSES, "abstains"), outputs=CLASSES)


def coder(dim: int) -> Network:
    """A small encoder with every kind of layer that trained coders have."""
    convolution = Convolution(product(3, 3, 2, shift=6), stride=1, padding=1)
    same = Convolution(product(3, 2, 2, shift=7), stride=1, padding=1)
    waves = (np.array(turn, dtype=np.int32) for turn in ([128, 0, -128, 0], [0, 128, 0, -128]))
    branches = (
        (Statistics(), quantise(12, copies=2, clip=Clip(0, 64))),
        (Spectrum(*waves, 8), RELU),
        (convolution, RELU, Residual((same, RELU)), Flatten()),
    )
    layers = (quantise(dim), Unflatten(3), Concatenation(branches), affine(24 + 9 + 8, 4, shift=10), RELU)
    return Network((*layers, affine(4, 3, shift=0), Argmax((3,), np.arange(3, dtype=np.int32))), dim)


STEPS = np.arange(-1024, 1025) / 128
RELU = Round(Clip(0, 2047))


def quantise(values: int, *, copies: int = 1, clip: Clip | None = None) -> Quantise:
    steep = np.abs(integers(copies, values, most=100)) + 1
    return Quantise(integers(copies, values, most=900), 10, steep, -4, clip or Clip(-2047, 2047))


def affine(inputs: int, outputs: int, *, shift: int) -> Affine:
    return Affine(product(inputs, outputs, shift=shift))


def product(*shape: int, shift: int) -> Product:
    return Product(integers(*shape, most=127), integers(shape[-1], most=127), 6, np.full(shape[-1], shift, np.int32))


def integers(*shape: int, most: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-most, most + 1, size=shape).astype(np.int32)


def _policy(kind: str) -> Policy:
    more = 'every = "600 ms"\nlisten = 2' if kind.endswith("held") else ""
    return Policy.from_toml(POLICY.format(mechanism=kind.split()[0], more=more))
