"""Peers fitted on the made-up stream."""

import numpy as np
import pytest

from deeprotect.evaluation.peers import PEERS, PeerRelease
from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import LabelledWindows

needs_opendp = pytest.mark.skipif(not PEERS["opendp"].installed(), reason="pip install opendp")


def fit_peer(name: str, windows: LabelledWindows, policy: Policy) -> PeerRelease:
    peer = PEERS[name]
    return peer.fit(windows, policy, 5.0 if peer.guarantee == "ldp" else None)


def asking(policy: Policy, *, useful: list[str], sensitive: list[str]) -> Policy:
    changed = {"inferences": {"useful": useful, "sensitive": sensitive}, "privacy": {"epsilon": 5.0}}
    return Policy.from_tables(policy.model_dump(exclude_unset=True) | changed)


def texts(windows: LabelledWindows, name: str) -> np.ndarray:
    return windows.labels[name].astype(str)


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few steps show form and repetition as well as many."""
    monkeypatch.setattr("deeprotect.evaluation.peers.adversarial.STEPS", 20)
