"""A small bundle, a gateway around it, and readings for it."""

from dataclasses import replace

import numpy as np
import pytest
from tests.postgres import Cluster

from deeprotect.bundle import Bundle
from deeprotect.bundle.layers.decision import Argmax
from deeprotect.bundle.manifest import TrainingRecord
from deeprotect.bundle.network import Network
from deeprotect.bundle.output_table import OutputTable
from deeprotect.gateway.streams.live_session import phase_of
from deeprotect.gateway.wire.message import Message, Readings
from deeprotect.policy import Policy
from deeprotect.privacy.channel.design import design
from deeprotect.privacy.channel.rounding import make

POLICY = """
version = 1
[stream]
rate_hz = 10
window = 4
[stream.channels.acc_x]
unit = "g"
range = [-4.0, 4.0]
[stream.channels.acc_y]
unit = "g"
range = [-4.0, 4.0]
[inferences]
useful = ["activity"]
[privacy]
epsilon = 5.0
mechanism = "channel"
"""
STEP = 10**8
EPOCH = 1_700_000_000 * 10**9  # windows of 0.4 s and episodes of 2 s begin there by the clock,
START = EPOCH + phase_of("watch") % 20 * STEP  # and there for the stream `watch`
NAMES = ("acc_x", "acc_y")


def channel_bundle(text: str = POLICY, **privacy: object) -> Bundle:
    """Four codes, each the place of the largest of the window's first four samples; outputs are four flat windows."""
    stream = {name: privacy.pop(name) for name in ("when_missing", "window") if name in privacy}
    policy = Policy.from_toml(text).vary(privacy=privacy, stream=stream)
    dim = policy.schema().dim
    mechanism = make(design(1.0 - np.eye(4), np.ones(4), ldp_epsilon=policy.privacy.epsilon))
    levels = np.repeat(np.array([[0.2], [0.4], [0.6], [0.8]], dtype=np.float32), dim, axis=1)
    return Bundle.make(
        policy,
        replace(mechanism, event=replace(mechanism.event, per=policy.hold.per)),
        encoder=Network((Argmax((dim,), np.arange(dim) % 4),), dim),
        decoder=OutputTable(levels),
        minimiser={"name": "code book"},
        training=TrainingRecord(fingerprint="0" * 64, rows=0, windows=0, recordings=0, classes={}, names_tell=[]),
        results=[],
        created="2026-01-01T00:00:00+00:00",
        made_with={},
    )


@pytest.fixture
def bundle_path(tmp_path):
    path = tmp_path / "protector"
    channel_bundle().save(path)
    return path


def readings(first: int, count: int, *, value: float = 0.5, sensor: str = "rows", channels=NAMES) -> Readings:
    """Readings of every channel at ticks first, first + 1, …"""
    times = START + (first + np.arange(count, dtype=np.int64)) * STEP
    return Readings(sensor, channels, times, np.full((count, len(channels)), value))


def message(first: int, count: int, *, session: str = "s", value: float = 0.5) -> Message:
    return Message(session, (readings(first, count, value=value),))


@pytest.fixture
def gateway(tmp_path):
    """A place for a real gateway; its processes end with the test."""
    from tests.gateway.live import Gateway

    made = Gateway(tmp_path / "work")
    yield made
    made.end()


@pytest.fixture
def cluster():
    """A PostgreSQL server that may be stopped and started again."""
    made = Cluster()
    made.start()
    yield made
    made.stop()
    made.remove()
