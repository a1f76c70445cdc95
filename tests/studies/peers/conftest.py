"""Peers fitted on the made-up stream."""

import numpy as np
import pytest
from tests.evaluation import conftest as made_up

from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import LabelledWindows
from studies.peers import PEERS, PeerRelease

policy, table, windows = made_up.policy, made_up.table, made_up.windows
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
    monkeypatch.setattr("studies.peers.adversarial.STEPS", 20)
    monkeypatch.setattr("studies.peers.conditional.STEPS", 20)
