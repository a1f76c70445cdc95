"""Small protectors on which a broken promise shows after a few thousand releases."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
from tests.networks import largest

from deeprotect.bundle import Bundle
from deeprotect.bundle.layers.erasing import Erase
from deeprotect.bundle.layers.rounding import Argmax
from deeprotect.bundle.layers.tensors import TENSORS, TensorWriter
from deeprotect.bundle.manifest import FileDigest, Manifest, TrainingRecord
from deeprotect.bundle.network import Network, OutputTable
from deeprotect.policy import Policy
from deeprotect.privacy.box import Box
from deeprotect.privacy.channel.design import design, make
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.channel.scripts import ScriptResponse, Scripts
from deeprotect.privacy.events import Event
from deeprotect.privacy.mechanisms import laplace
from deeprotect.training.erasing import EraseDirections
from deeprotect.training.export import COARSE, LayerBuilder, build

EPSILON = 2.0
CODES = 4
HELD = 6


def policy(event: Event, values: int, *, listen: int | None = None, slot: int | None = None) -> Policy:
    """One channel, and the promise that the mechanism makes; an episode is of six windows."""
    held = {"every": f"{HELD * values / 10:g} s", "listen": listen} if event.per == "episode" else {}
    held |= {} if slot is None else {"slots": f"{slot * values / 10:g} s"}
    held |= {"mechanism": "paper"} if event.guarantee == "rldp" else {}  # any other erases directions
    return Policy.from_tables(
        {
            "version": 1,
            "stream": {"rate_hz": 10, "window": values, "channels": {"acc_x": {"unit": "g", "range": [-4.0, 4.0]}}},
            "inferences": {"useful": ["activity"], "sensitive": [*event.inferences, *event.erased]},
            "privacy": {"epsilon": event.epsilon, "guarantee": event.policy_guarantee, **held},
        }
    )


def bundle(mechanism, values, **networks) -> Bundle:
    """A bundle that has passed the checks of making and loading."""
    return unchecked(mechanism, values, **networks).checked("a small protector")


def unchecked(mechanism, values, *, encoder=None, decoder=None, listen=None) -> Bundle:
    """What a maker with a bug in it may ship; without networks, windows are their own codes."""
    slot = None if mechanism.scripts is None else mechanism.scripts.windows
    tensors, nothing = TensorWriter(), Network((), values)
    layers = {"encoder": (encoder or nothing).to_json(tensors), "decoder": (decoder or nothing).to_json(tensors)}
    files = {TENSORS: tensors.to_bytes()}
    manifest = Manifest(
        created="2026-01-01T00:00:00+00:00",
        made_with={},
        policy=policy(mechanism.event, values, listen=listen, slot=slot).to_json(),
        feature_extractor={"name": "none"},
        mechanism=mechanism.to_json(),
        certificate=mechanism.certificate(),
        training=TrainingRecord(fingerprint="0" * 64, rows=0, windows=0, recordings=0, classes={}),
        results=[],
        files={name: FileDigest.of(content) for name, content in files.items()},
        **layers,
    )
    return Bundle(manifest, files)


def on_samples() -> Bundle:
    """Noise on two samples."""
    return bundle(laplace.baseline(2, EPSILON), 2)


def narrow_box() -> laplace.GridLaplace:
    return laplace.certified(Box((0.4, 0.4), (0.6, 0.6)), EPSILON)


def clipped() -> Bundle:
    """A clip box far narrower than what windows reach."""
    return bundle(narrow_box(), 2)


def coded() -> Bundle:
    """Randomised response."""
    return bundle(randomised_response(), CODES, **code_book(CODES))


def held(*, listen: int | None = None) -> Bundle:
    """Randomised response, once for each episode."""
    mechanism = randomised_response()
    held = replace(mechanism, event=replace(mechanism.event, per="episode"))
    return bundle(held, CODES, listen=listen, **code_book(CODES))


def scripted(epsilon: float = EPSILON, *, slot: int = 1, variants: int = 1) -> Bundle:
    """Scripts of one change in six windows, in slots of so many."""
    scripts, labels = (
        Scripts(CODES, HELD // slot, 1, slot),
        {"prior": (1 / CODES,) * CODES, "cost": 1.0 - np.eye(CODES)},
    )
    mechanism = ScriptResponse.of(scripts, epsilon, variants=variants, **labels)
    held = replace(mechanism, event=replace(mechanism.event, per="episode"))
    return bundle(held, CODES, **code_book(CODES, np.repeat(np.eye(CODES), variants, axis=0)))


def code_book(codes: int, windows: np.ndarray | None = None) -> dict[str, Network | OutputTable]:
    """The place of the largest sample is the code; each output has one public window, or a row of `windows`."""
    table = np.eye(codes) if windows is None else windows
    return {"encoder": largest(codes, np.arange(codes)), "decoder": OutputTable.of(table)}


def randomised_response() -> DiscreteChannel:
    return make(design(1.0 - np.eye(CODES), np.ones(CODES), ldp_epsilon=EPSILON))


def erased() -> Bundle:
    """Randomised response behind one erased direction, as a maker exports it."""
    layer = Erase(np.array([1], np.int32), np.array([[9_000, -4_000, 5_000]], np.int32))
    builder = LayerBuilder(np.random.default_rng(0).random((64, CODES)), COARSE)
    build(EraseDirections(layer), builder)
    encoder = Network((*builder.layers, Argmax((CODES,), np.arange(CODES, dtype=np.int32))), CODES)
    response = randomised_response()
    mechanism = replace(response, event=replace(response.event, erased=("person",)))
    return unchecked(mechanism, CODES, encoder=encoder, decoder=OutputTable.of(np.eye(CODES)))


def table(rows: int = 7) -> pa.Table:
    """One recording whose last window is not full, with a label and a stranger's column."""
    return pa.table(
        {
            "time": np.arange(rows) / 10,
            "acc_x": np.linspace(-1.0, 1.0, rows) + 1e-4 / np.pi,  # off the noise's grid: equality is no accident
            "activity": ["walk"] * rows,
            "note": ["private"] * rows,
        }
    )
