"""Peers: what others do, fitted on the same windows and released in the same form."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.studies.peers.conftest import asking, fit_peer, needs_opendp, texts

from deeprotect.errors import PolicyError, TableError
from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import LabelledWindows
from studies.peers import PEERS

HERE = [pytest.param(name, marks=needs_opendp if name == "opendp" else ()) for name in PEERS]


@pytest.mark.usefixtures("hurry")
@pytest.mark.parametrize("name", HERE)
def test_every_peer_keeps_form_and_range(name: str, windows: LabelledWindows, policy: Policy) -> None:
    release = fit_peer(name, windows, policy)
    released = release(windows.flat[:50])
    assert released.shape == windows.flat[:50].shape
    assert released.dtype == np.float64
    assert released.min() >= 0.0
    assert released.max() <= 1.0
    assert np.abs(released - windows.flat[:50]).max() > 1e-3


def test_only_noise_with_a_bound_promises_anything() -> None:
    assert {name for name, peer in PEERS.items() if peer.guarantee != "none"} == {"opendp", "label-only"}
    assert all(peer.name == name for name, peer in PEERS.items())


def test_the_list_of_peers_needs_neither_torch_nor_opendp() -> None:
    code = "import sys, studies.peers; sys.exit(bool({'torch', 'opendp'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["leace", "adversarial", "conditional"])
def test_without_a_sensitive_inference_it_refuses_in_one_line(
    name: str, windows: LabelledWindows, policy: Policy
) -> None:
    with pytest.raises(PolicyError, match=r"^\w+ hides named inferences only; add inferences.sensitive.*$"):
        fit_peer(name, windows, asking(policy, useful=["activity"], sensitive=[]))


@pytest.mark.parametrize("name", ["leace", "adversarial", "conditional"])
def test_a_single_sensitive_class_is_refused(name: str, windows: LabelledWindows, policy: Policy) -> None:
    ann = windows[texts(windows, "person") == "ann"]
    with pytest.raises(TableError, match="fewer than two classes of 'person'"):
        fit_peer(name, ann, policy)


@pytest.mark.parametrize("name", ["leace", "adversarial", "conditional"])
@pytest.mark.usefixtures("hurry")
def test_missing_labels_and_several_inferences_are_fine(name: str, windows: LabelledWindows, policy: Policy) -> None:
    rng = np.random.default_rng(0)
    labels = {"activity": windows.labels["activity"], "person": windows.labels["person"].copy()}
    labels["person"][rng.uniform(size=len(windows)) < 0.5] = None
    labels["hand"] = rng.choice(np.array(["left", "right", None], dtype=object), size=len(windows))
    asked = asking(policy, useful=["activity"], sensitive=["person", "hand"])
    assert np.isfinite(fit_peer(name, replace(windows, labels=labels), asked)(windows.flat)).all()
