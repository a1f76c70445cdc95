"""The label alone: a forest reads the useful classes, randomised response answers, and the class's mean window leaves.

It is the least that anybody would build from the shelf under ε-LDP: no network learnt for the release, no synthesis.
"""

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.pipeline import make_pipeline

from deeprotect.errors import PolicyError
from deeprotect.policy import Policy
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import LabelledWindows
from deeprotect.training.window_features import WindowFeatures
from studies.peers.peer import PeerRelease, targets


def fit(windows: LabelledWindows, policy: Policy, epsilon: float | None) -> PeerRelease:
    """Assign one code to each combination of useful classes in the training windows."""
    if epsilon is None:
        raise PolicyError("label-only promises an epsilon; give one")
    useful = targets(windows, policy.inferences.useful)
    known = (useful.codes >= 0).all(axis=1)
    _, codes = np.unique(useful.codes[known], axis=0, return_inverse=True)
    codes = codes.ravel()
    count = int(codes.max()) + 1
    outputs = np.stack([windows.flat[known][codes == code].mean(axis=0) for code in range(count)])
    forest = make_pipeline(
        WindowFeatures(windows.samples.shape[2]), ExtraTreesClassifier(200, random_state=policy.training.seed)
    ).fit(windows.flat[known], codes)
    random = np.random.default_rng(policy.training.seed)
    honest = np.exp(epsilon) / (np.exp(epsilon) + count - 1)

    def release(private: Floats) -> Floats:
        read = forest.predict(private)
        other = (read + random.integers(1, max(2, count), len(read))) % count
        return np.asarray(outputs[np.where(random.random(len(read)) < honest, read, other)])

    return release
