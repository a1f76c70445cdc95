"""What many tests share: hypothesis without deadlines, a small policy, a small table and a bundle made by hand."""

import os

# Before anything loads numpy or torch, and for processes that tests start: models here are small, workers are as many
# as cores or more, and threads that wait for one another took three quarters of the processor.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings
from tests.networks import largest

from deeprotect.bundle import Bundle
from deeprotect.bundle.manifest import TrainingRecord
from deeprotect.bundle.network import Network, OutputTable
from deeprotect.policy import Policy
from deeprotect.privacy.box import Box
from deeprotect.privacy.channel.design import design, make
from deeprotect.privacy.mechanisms import laplace

settings.register_profile("steady", deadline=None)
settings.load_profile("steady")

POLICY = """
version = 1
[stream]
rate_hz = 10
window = 4
[stream.channels.acc_x]
unit = "g"
range = [-4.0, 4.0]
resolution = 0.001
[stream.channels.acc_y]
unit = "g"
range = [-4.0, 4.0]
[inferences]
useful = ["activity"]
[privacy]
epsilon = 5.0
mechanism = "baseline"
"""


@pytest.fixture
def policy() -> Policy:
    return Policy.from_toml(POLICY)


@pytest.fixture
def bundle(policy) -> Bundle:
    """The baseline: identity networks around noise on every sample."""
    dim = policy.schema().dim
    return Bundle.make(
        policy,
        laplace.baseline(dim, policy.privacy.epsilon),
        encoder=Network((), dim),
        decoder=Network((), dim),
        feature_extractor={"name": "none"},
        training=TrainingRecord(fingerprint="0" * 64, rows=0, windows=0, recordings=0, classes={}),
        results=[],
        created="2026-01-01T00:00:00+00:00",
        made_with={},
    )


@pytest.fixture
def channel_bundle(policy) -> Bundle:
    """Four codes through a channel, with the person named as sensitive."""
    privacy = {"mechanism": "channel", "epsilon": 0.5}
    dim = policy.schema().dim
    return Bundle.make(
        policy.vary(inferences={"sensitive": ["person"]}, privacy=privacy),
        make(design(1.0 - np.eye(4), np.ones(4), ldp_epsilon=0.5)),
        encoder=largest(dim, np.arange(dim) % 4),
        decoder=OutputTable.of(np.full((4, dim), 0.5)),
        feature_extractor={"name": "code book"},
        training=TrainingRecord(
            fingerprint="0" * 64,
            rows=320,
            windows=80,
            recordings=8,
            classes={"activity": ["still", "walk"], "person": ["1", "2"]},
        ),
        results=[],
        created="2026-01-01T00:00:00+00:00",
        made_with={},
    )


def _mode2(dim, epsilon):
    return laplace.paper_mode2(Box.unit(dim), epsilon, directions=np.full((dim, 1), dim**-0.5), inferences=("person",))


@pytest.fixture
def relaxed_bundle(policy) -> Bundle:
    """The paper's noise for one direction of the person's, on the samples."""
    privacy, training = {"mechanism": "paper", "guarantee": "rldp"}, {"feature_extractor": "paper"}
    dim = policy.schema().dim
    return Bundle.make(
        policy.vary(inferences={"sensitive": ["person"]}, privacy=privacy, training=training),
        _mode2(dim, policy.privacy.epsilon),
        encoder=Network((), dim),
        decoder=Network((), dim),
        feature_extractor={"name": "none"},
        training=TrainingRecord(fingerprint="0" * 64, rows=0, windows=0, recordings=0, classes={}),
        results=[],
        created="2026-01-01T00:00:00+00:00",
        made_with={},
    )


@pytest.fixture
def table() -> pa.Table:
    return walk(23)


def walk(rows: int, *, recordings: int = 2) -> pa.Table:
    """Two recordings of a small walk with a label and a stranger's column."""
    phase = np.arange(rows) / 3
    number = np.arange(rows) * recordings // rows
    start = np.searchsorted(number, number)
    return pa.table(
        {
            "time": (np.arange(rows) - start) / 10,
            "acc_x": np.sin(phase),
            "note": ["private"] * rows,
            "acc_y": np.cos(phase).astype(np.float32),
            "recording": [f"r{index}" for index in number],
            "activity": ["walk" if index % 2 else "still" for index in number],
        }
    )
