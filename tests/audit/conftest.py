"""Protectors of channels with few codes, and windows of two people."""

import numpy as np
import pytest
from tests.mutations import protectors
from threadpoolctl import threadpool_limits

from deeprotect.bundle import Bundle
from deeprotect.privacy.channel.design import SensitiveCounts, design
from deeprotect.privacy.channel.rounding import make
from deeprotect.training.labelled_windows import LabelledWindows

COUNTS = 100 * np.array([[30, 5, 5], [5, 5, 30]])


@pytest.fixture(autouse=True)
def one_thread():
    """As in an audit: parts of one that are called by themselves would wait for a second thread."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def coded():
    """`coded(epsilon)`: randomised response on the place of the largest sample."""
    return _coded


@pytest.fixture
def named():
    """`named(**promise)`: ε = 1 for two people, from many calibration windows."""
    secret = SensitiveCounts("person", ("ann", "bob"), COUNTS, 1.0)
    return lambda **promise: _coded(None, codes=3, secrets=[secret], **promise)


@pytest.fixture
def people():
    """`people(ann, bob)`: windows whose largest sample is at places counted so, labelled by person."""
    return _people


@pytest.fixture
def calibration_people():
    return _people(*COUNTS.tolist())


def _coded(epsilon, codes=6, secrets=(), **promise) -> Bundle:
    plan = design(1.0 - np.eye(codes), np.ones(codes), secrets=secrets, **({"ldp_epsilon": epsilon} | promise))
    return protectors.bundle(make(plan), codes, **protectors.code_book(codes))


def _people(ann, bob) -> LabelledWindows:
    places = np.concatenate([np.repeat(np.arange(len(counts)), counts) for counts in (ann, bob)])
    labels = np.repeat(np.array(["ann", "bob"], dtype=object), [sum(ann), sum(bob)])
    samples = np.eye(len(ann))[places][:, :, None]
    return LabelledWindows(samples, {"person": labels}, np.zeros(len(places), dtype=np.int64), len(places), "")
