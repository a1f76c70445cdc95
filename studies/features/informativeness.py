"""How much a single feature tells about a label: I(feature; label) / H(label) (Frank et al., Touchalytics, 2013)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import InputError
from deeprotect.training.labelled_windows import MISSING, Targets

Floats = NDArray[np.float64]


def informativeness(features: Floats, labels: Any, *, bins: int = 20) -> Floats:
    """One number in [0, 1] per feature (row, feature), over the labelled rows.

    Features are cut into equally filled bins. The plug-in estimate runs high by about
    (bins - 1)(classes - 1) / 2n nats (Miller, 1955), which is taken off.
    """
    targets = Targets.read(labels, len(features))
    if len(targets.counts) != 1:
        raise InputError("informativeness needs one label column with at least two classes")
    codes = targets.codes[:, 0]
    known = codes != MISSING
    entropy = _entropy(np.bincount(codes[known]))
    shared = [_shared(column, codes[known], bins=bins) for column in np.asarray(features)[known].T]
    return np.clip(np.array(shared) / entropy, 0.0, 1.0)


def _shared(feature: Floats, codes: NDArray[np.int64], *, bins: int) -> float:
    """Mutual information in nats between a binned feature and a label."""
    edges = np.unique(np.quantile(feature, np.linspace(0.0, 1.0, bins + 1)[1:-1]))
    places = np.searchsorted(edges, feature, side="right")
    joint = np.zeros((len(edges) + 1, int(codes.max()) + 1))
    np.add.at(joint, (places, codes), 1.0)
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    excess = (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1) / (2 * joint.sum())
    return _entropy(rows) + _entropy(columns) - _entropy(joint.ravel()) - float(excess)


def _entropy(counts: NDArray[Any]) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())
