"""Directions along which linear classifiers recognise sensitive labels, and their removal from windows before coding.

Coder and bundle use the same projection onto the remaining directions, computed from whole-number steps.
docs/claims.md#erased-directions
"""

from collections.abc import Sequence

import numpy as np
import torch
from scipy.linalg import qr
from sklearn.linear_model import RidgeClassifier
from torch import Tensor, nn

from deeprotect.bundle.layers.erasing import ONE, Erase
from deeprotect.errors import PolicyError
from deeprotect.privacy.mechanisms.relaxed import basis
from deeprotect.signals.schema import Floats
from deeprotect.training.export import LayerBuilder, array, build
from deeprotect.training.labelled_windows import Labels

WEAKLY = 1e-3
"""Regularisation of the classifiers. Stronger regularisation brings their weights closer to differences of class means,
which also carry useful information."""
BOUNDED = 1.01
"""Share of the largest entry that a pivot must have; without pivoting, rounding errors would be amplified."""
MOST_SWAPS = 1000


def sensitive_directions(flat: Floats, labels: Sequence[Labels], *, alpha: float = 1.0) -> Floats:
    """Orthonormal basis (value, direction) of ridge classifiers' weights, all classes of all inferences (paper, mode
    2).

    `labels` has a column for each inference; None for a window without a label.
    """
    weights = []
    for column in labels:
        known = np.array([label is not None for label in column], dtype=bool)
        truth = column[known].astype(str)
        if len(np.unique(truth)) > 1:
            classifier = RidgeClassifier(alpha=alpha).fit(flat[known], truth)
            weights.append(np.atleast_2d(classifier.coef_).T)
    if not weights:
        raise PolicyError('no class of inferences.sensitive to hide; guarantee = "rldp" needs two of one of them')
    return basis(np.hstack(weights))


def erasing(flat: Floats, labels: Sequence[Labels]) -> Erase:
    """Build the layer that removes these windows' sensitive directions."""
    directions = sensitive_directions(flat, labels, alpha=WEAKLY)
    values, rank = directions.shape
    if rank >= values:
        raise PolicyError(
            f"the sensitive inferences have {rank} linear directions, and a window has {values} values: nothing would "
            "be left; make windows longer, or name fewer inferences"
        )
    pivots = _pivots(directions)
    others = np.delete(directions, pivots, axis=0) @ np.linalg.inv(directions[pivots])
    return Erase(pivots.astype(np.int32), np.rint(others.T * ONE).astype(np.int32))


def _pivots(directions: Floats) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
    """Positions to pivot on so that no other position moves more than about 1: rows of nearly the largest determinant
    (Goreinov et al. 2010), starting from those of a pivoted QR."""
    rank = directions.shape[1]
    pivots = np.array(qr(directions.T, mode="r", pivoting=True)[1][:rank])
    for _ in range(MOST_SWAPS):
        moved = np.abs(directions @ np.linalg.inv(directions[pivots]))
        place, pivot = np.unravel_index(moved.argmax(), moved.shape)
        if moved[place, pivot] <= BOUNDED:
            break
        pivots[pivot] = place
    return np.sort(pivots)


class EraseDirections(nn.Module):
    """Projects flat windows in [0, 1] around the middle of the range and clips the result."""

    basis: Tensor

    def __init__(self, layer: Erase) -> None:
        super().__init__()
        self.layer = layer
        self.register_buffer("basis", torch.tensor(np.linalg.qr(layer.directions)[0], dtype=torch.float32))

    def forward(self, windows: Tensor) -> Tensor:
        basis, moved = self.basis.to(windows.dtype), windows - 0.5
        erased: Tensor = (moved - (moved @ basis) @ basis.T + 0.5).clamp(0.0, 1.0)
        return erased


@build.register
def _erase(module: EraseDirections, builder: LayerBuilder) -> None:
    basis = array(module.basis)
    builder.erase(module.layer, np.eye(len(basis)) - basis @ basis.T)
