"""Protectors of channels with few codes, and windows of two people."""

import numpy as np
import pytest
from tests.mutations import protectors
from tests.recordings import promises, recorded
from threadpoolctl import threadpool_limits

from deeprotect.bundle import Bundle
from deeprotect.privacy.channel.design import design, make
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
    """`named(**promise)`: ε = 1 for two people, from many calibration recordings."""
    found = promises(COUNTS, classes=("ann", "bob"), recordings=1000)
    return lambda **promise: _coded(None, codes=3, promises=found, **promise)


@pytest.fixture
def people():
    """`people(ann, bob)`: windows whose largest sample is at places counted so, labelled by person."""
    return _people


@pytest.fixture
def calibration_people():
    return _people(*COUNTS.tolist())


GIVEN = 100 * np.array([[[30, 5, 5], [25, 10, 5]], [[5, 5, 30], [5, 8, 27]]])  # (activity, person, code)


@pytest.fixture
def given_activity():
    """ε = 1 for two people, given what they do."""
    useful = ("walk", "still", "other")
    counts = np.concatenate([GIVEN, np.zeros_like(GIVEN[:1])])
    shares = recorded(counts, classes=("ann", "bob"), given=useful, recordings=1000)
    found, rest = shares.calibrated(confidence=0.95)
    plan = design(1.0 - np.eye(3), np.ones(3), promises=found, given=["activity"], ldp_epsilon=5.0)
    return protectors.bundle(make(plan, outputs=useful, unpromised=rest), 3, **protectors.code_book(3))


@pytest.fixture
def active_people():
    """`active_people(counts)`: windows counted by activity, person and place of the largest sample."""
    return _active_people


def _active_people(counts) -> LabelledWindows:
    activity, person, place = (np.repeat(axis.ravel(), np.ravel(counts)) for axis in np.indices(np.shape(counts)))
    labels = {
        "activity": np.array(["walk", "still"], dtype=object)[activity],
        "person": np.array(["ann", "bob"], dtype=object)[person],
    }
    return LabelledWindows(np.eye(3)[place][:, :, None], labels, np.zeros(len(place), dtype=np.int64), len(place), "")


def _coded(epsilon, codes=6, promises=(), **promise) -> Bundle:
    plan = design(1.0 - np.eye(codes), np.ones(codes), promises=promises, **({"ldp_epsilon": epsilon} | promise))
    return protectors.bundle(make(plan), codes, **protectors.code_book(codes))


def _people(ann, bob) -> LabelledWindows:
    places = np.concatenate([np.repeat(np.arange(len(counts)), counts) for counts in (ann, bob)])
    labels = np.repeat(np.array(["ann", "bob"], dtype=object), [sum(ann), sum(bob)])
    samples = np.eye(len(ann))[places][:, :, None]
    return LabelledWindows(samples, {"person": labels}, np.zeros(len(places), dtype=np.int64), len(places), "")
