"""Noise by OpenDP."""

import sys

import numpy as np
import pytest
from tests.studies.peers.conftest import needs_opendp

from deeprotect.errors import InputError, PolicyError
from deeprotect.policy import Policy
from deeprotect.privacy.box import GRID_STEPS
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.privacy.mechanisms.laplace import baseline
from deeprotect.training.labelled_windows import LabelledWindows
from studies.features.expected_noise import expected_noise
from studies.peers import PEERS, opendp


def test_opendp_needs_an_epsilon(windows: LabelledWindows, policy: Policy) -> None:
    with pytest.raises(PolicyError, match="give one"):
        PEERS["opendp"].fit(windows, policy, None)


def test_without_opendp_the_peer_says_what_to_install(
    windows: LabelledWindows, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(InputError, match="pip install opendp"):
        PEERS["opendp"].fit(windows, policy, 1.0)


@needs_opendp
@pytest.mark.parametrize(("dim", "epsilon"), [(6, 5.0), (30, 1.0)])
def test_opendp_draws_as_much_noise_as_the_baseline(dim: int, epsilon: float) -> None:
    draws, ours = 20_000, baseline(dim, epsilon)
    theirs = np.abs(opendp._laplace(GRID_STEPS * dim, epsilon)([0] * draws)) / GRID_STEPS
    # Both estimate E|noise|; the standard error of an exponential mean is that mean over the root of the draws.
    error = 5 * dim / epsilon / np.sqrt(draws)
    assert theirs.mean() == pytest.approx(expected_noise(ours) / dim, abs=error)
    zeros = np.zeros((draws // dim, dim))
    drawn = np.abs(ours.privatise(zeros, entropy=SeededEntropy(0)))
    assert theirs.mean() == pytest.approx(drawn.mean(), abs=2 * error)
