"""Protectors of channels with few codes."""

import numpy as np
import pytest
from tests.mutations import protectors
from threadpoolctl import threadpool_limits

from deeprotect.bundle import Bundle
from deeprotect.privacy.channel.design import design, make


@pytest.fixture(autouse=True)
def one_thread():
    """As in an audit: parts of one that are called by themselves would wait for a second thread."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def coded():
    """`coded(epsilon)`: randomised response on the place of the largest sample."""
    return _coded


def _coded(epsilon, codes=6) -> Bundle:
    plan = design(1.0 - np.eye(codes), np.ones(codes), ldp_epsilon=epsilon)
    return protectors.bundle(make(plan), codes, **protectors.code_book(codes))
