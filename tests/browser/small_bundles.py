"""Bundles made by hand, small enough to stand in a repository: one of each mechanism that the browser runs."""

from dataclasses import replace

import numpy as np

from deeprotect.bundle import Bundle
from deeprotect.bundle.layers.activations import Activation
from deeprotect.bundle.layers.decision import Argmax
from deeprotect.bundle.layers.products import Affine, Convolution
from deeprotect.bundle.layers.structure import Concatenation, Flatten, Unflatten
from deeprotect.bundle.layers.summaries import Spectrum, Statistics
from deeprotect.bundle.manifest import TrainingRecord
from deeprotect.bundle.network import Network
from deeprotect.bundle.output_table import OutputTable
from deeprotect.policy import Policy
from deeprotect.privacy.box import Box
from deeprotect.privacy.channel.combinations import tables_of
from deeprotect.privacy.channel.design import SensitiveCounts, design
from deeprotect.privacy.channel.rounding import make
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
sensitive = {sensitive}
[privacy]
epsilon = {epsilon}
guarantee = "{guarantee}"
mechanism = "{mechanism}"
{more}
"""
KINDS = ("baseline", "laplace", "laplace held", "channel ldp", "channel held", "channel named", "channel given")
PEOPLE = ("ann", "bob", "cid")
CLASSES = ("lie", "sit", "walk")
COUNTS = np.array([[9000, 6000, 3000], [8000, 6000, 4000], [8500, 5500, 4000]])


def small_bundle(kind: str) -> Bundle:
    encoder, decoder, mechanism, policy = _parts(kind)
    mechanism = replace(mechanism, event=replace(mechanism.event, per=policy.hold.per))
    return Bundle.make(
        policy,
        mechanism,
        encoder=encoder,
        decoder=decoder,
        minimiser={"name": "none"},
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
        mechanism = laplace.certified(box, epsilon, importance=[1.0, 1.0, 4.0])
        decoder = Network((Affine(floats(3, dim), floats(dim)), Activation("sigmoid")), box.dim)
        return Network((Affine(floats(dim, 3), floats(3)), Activation("tanh")), dim), decoder, mechanism, policy
    return coder(dim), OutputTable(np.round(np.abs(floats(6, dim)) % 1, 3)), _channel(kind), policy


def _channel(kind: str):
    cost = 1.0 - np.eye(4)[:, :3]  # the fourth code is of those who abstain
    if not kind.endswith(("named", "given")):
        plan = design(cost, [0.4, 0.3, 0.2, 0.1], ldp_epsilon=2.0)
        return make(plan, variants=2, codes=(*CLASSES, "abstains"), outputs=CLASSES)
    counts = np.column_stack([COUNTS, np.full(3, 300)])
    if kind == "channel named":
        secrets, rest = [SensitiveCounts("person", PEOPLE, counts, 0.5)], []
    else:
        by_useful = np.stack([counts, counts[::-1], counts])
        by_useful[2, 1] = 4  # nobody saw the second person walk
        secrets, rest = tables_of("person", by_useful, given=CLASSES, classes=PEOPLE, epsilon=0.5)
    given = ("activity",) if rest else ()
    plan = design(cost, [0.4, 0.3, 0.2, 0.1], secrets=secrets, ldp_epsilon=4.0, given=given)
    return make(plan, variants=2, codes=(*CLASSES, "abstains"), outputs=CLASSES, without_promise=tuple(rest))


def coder(dim: int) -> Network:
    """Small, with every kind of layer that trained coders have."""
    summaries = Concatenation(
        ((Statistics(),), (Spectrum(),), (Convolution(floats(3, 3, 2), floats(2), 1, 1), Flatten()))
    )
    layers = (Unflatten(3), summaries, Affine(floats(12 + 9 + 8, 5), floats(5)), Activation("relu"))
    return Network((*layers, Affine(floats(5, 3), floats(3)), Argmax((3,), np.arange(3), 0.5, 3)), dim)


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def _policy(kind: str) -> Policy:
    mechanism = kind.split()[0]
    named = kind in ("channel named", "channel given")
    more = "ldp_ceiling = 4.0" if named else ""
    more += '\ngiven = "useful"' if kind == "channel given" else ""
    more += '\nevery = "600 ms"\nlisten = 2' if kind.endswith("held") else ""
    epsilon = 0.5 if named else 2.0
    sensitive = '["person"]' if named else "[]"
    guarantee = "named" if named else "ldp"
    return Policy.from_toml(
        POLICY.format(sensitive=sensitive, epsilon=epsilon, guarantee=guarantee, mechanism=mechanism, more=more)
    )
