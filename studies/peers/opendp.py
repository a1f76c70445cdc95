"""OpenDP's Laplace noise on every sample: the same promise as `baseline`, calibrated and drawn by other hands.

Neighbours and grid are `baseline`'s: any two windows, each sample one of `GRID_STEPS` + 1 integers. OpenDP takes no
seed.
"""

from typing import Any

import numpy as np

from deeprotect.errors import InputError, PolicyError
from deeprotect.policy import Policy
from deeprotect.privacy.box import GRID_STEPS, Box
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import LabelledWindows
from studies.peers.peer import PeerRelease


def fit(windows: LabelledWindows, _policy: Policy, epsilon: float | None) -> PeerRelease:
    """Learns nothing: noise depends on ε and the number of values in a window alone."""
    if epsilon is None:
        raise PolicyError("opendp promises an epsilon; give one")
    box = Box.unit(windows.flat.shape[1])
    noisy = _laplace(GRID_STEPS * box.dim, epsilon)

    def release(private: Floats) -> Floats:
        position = box.to_grid(private)
        drawn = np.array(noisy(position.ravel().tolist()), dtype=np.int64)
        return box.from_grid(drawn.reshape(position.shape)).clip(0.0, 1.0)

    return release


def _laplace(distance: int, epsilon: float) -> Any:
    """The least noise whose own privacy map gives at most ε where two windows are `distance` grid steps apart."""
    try:
        import opendp.prelude as dp
    except ModuleNotFoundError as error:
        raise InputError("OpenDP is not installed; run: pip install opendp") from error
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")

    def make(scale: float) -> Any:
        return dp.m.make_laplace(*space, scale=scale)

    return make(dp.binary_search_param(make, d_in=distance, d_out=epsilon, T=float))
