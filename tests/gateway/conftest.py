"""A small bundle, a gateway around it, and readings for it."""

import asyncio

import numpy as np
import pytest
from tests.gateway import channels as made
from tests.gateway.channels import POLICY
from tests.postgres import Cluster

from deeprotect.bundle import Bundle
from deeprotect.gateway.wire.message import Message
from deeprotect.policy import Policy
from deeprotect.release.by_time import phase_of
from deeprotect.signals.readings import Readings

STEP = 10**8
EPOCH = 1_700_000_000 * 10**9  # windows of 0.4 s and episodes of 2 s begin there by the clock,
START = EPOCH + phase_of("watch") % 20 * STEP  # and there for the stream `watch`
NAMES = ("acc_x", "acc_y")


def channel_bundle(text: str = POLICY, **privacy: object) -> Bundle:
    """Four codes, each the place of the largest of the window's first four samples; outputs are four flat windows."""
    stream = {name: privacy.pop(name) for name in ("when_missing", "window") if name in privacy}
    policy = Policy.from_toml(text).vary(privacy=privacy, stream=stream)
    return made.channel_bundle(policy)


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


async def is_read(gateway, *, seconds=20):
    """Once somebody is there for every app, of whom the gateway has to find out by itself."""
    async with asyncio.timeout(seconds):
        while not all(map(gateway.mediator.readers.are_there, gateway.directory.apps())):
            await asyncio.sleep(0.01)


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
