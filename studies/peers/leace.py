"""LEACE, least-squares concept erasure (Belrose et al. 2023): no linear reader of the sensitive labels is left.

The linear relative of usage mode 2, without noise and without ε: what a nonlinear reader sees is not touched.
"""

from dataclasses import dataclass

import numpy as np

from deeprotect.policy import Policy
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import MISSING, LabelledWindows, Targets
from studies.peers.peer import PeerRelease, sensitive

RIDGE = 1e-9
"""Share of the mean variance added to each: with it the covariance has a root and an inverse.

Erasure is exact for any positive definite matrix in its place; only the least change depends on it.
"""
SMALLEST = 1e-10
"""Correlations with the labels, which are of size 1, that are rounding errors; erasing those would erase anything."""


@dataclass(frozen=True)
class Erasure:
    """r(x) = x − W⁺ P W (x − μ), with W⁺ P W = `back` · `read`; (value, rank) and (rank, value)."""

    mean: Floats
    back: Floats
    read: Floats

    def __call__(self, windows: Floats) -> Floats:
        return np.asarray(windows - (windows - self.mean) @ self.read.T @ self.back.T)


def fit(windows: LabelledWindows, policy: Policy, _epsilon: float | None) -> PeerRelease:
    """Erase all sensitive inferences together."""
    erase = erasure(windows.flat, sensitive(windows, policy, peer="leace"))
    return lambda private: erase(private).clip(0.0, 1.0)


def erasure(windows: Floats, labels: Targets) -> Erasure:
    """W = Σ_XX^{-1/2}; P projects on the columns of W Σ_XZ, of which `left` is an orthonormal basis."""
    mean = windows.mean(axis=0)
    centred = windows - mean
    root, whiten = _roots(centred.T @ centred / len(windows))
    left, strength, _ = np.linalg.svd(whiten @ _covariance(centred, labels), full_matrices=False)
    left = left[:, strength > SMALLEST]
    return Erasure(mean, root @ left, left.T @ whiten)


def _roots(covariance: Floats) -> tuple[Floats, Floats]:
    """Σ^{1/2} and Σ^{-1/2}."""
    values, vectors = np.linalg.eigh(covariance)
    # A window that never moves has no variance at all: any positive number will do for it.
    spread = np.sqrt(values.clip(min=0.0) + RIDGE * (values.mean() if values.mean() > 0.0 else 1.0))
    return (vectors * spread) @ vectors.T, (vectors / spread) @ vectors.T


def _covariance(centred: Floats, labels: Targets) -> Floats:
    """Σ_XZ, a column for each class of each inference; a window without its label has no part in those columns."""
    columns = labels.signs()
    for inference, block in labels.blocks():
        known = labels.codes[:, inference] != MISSING
        columns[known, block] -= columns[known, block].mean(axis=0)
    return np.asarray(centred.T @ columns / len(centred))
