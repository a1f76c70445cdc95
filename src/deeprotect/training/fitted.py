"""What is learnt without regard to ε, and kept by name for the next policy on the same windows."""

from collections.abc import MutableMapping
from typing import Any

from deeprotect.policy import Policy
from deeprotect.training.dataset import LabelledWindows
from deeprotect.training.minimisers.autoencoder import Autoencoder
from deeprotect.training.minimisers.linear import DCT, DFT, PCA, Haar
from deeprotect.training.minimisers.minimiser import Minimiser
from deeprotect.training.minimisers.paper_autoencoder import PaperAutoencoder
from deeprotect.training.minimisers.sparse import BlindCompressiveSensing

STEPS, STEPS_PER_EPOCH = 3000, 50
"""The paper's autoencoder has no epochs; where a policy limits them, so many steps stand for one."""
Parts = MutableMapping[str, Any]
"""Minimisers by name, and the code book."""


def fitted(windows: LabelledWindows, policy: Policy, parts: Parts) -> Minimiser:
    """The policy's minimiser, learnt from the useful inferences only, once for all policies that share `parts`."""
    name = policy.training.minimiser
    if name not in parts:
        parts[name] = untrained(policy).fit(windows.flat, windows.targets(policy.inferences.useful))
    learnt: Minimiser = parts[name]
    return learnt


def untrained(policy: Policy) -> Minimiser:
    """The policy's minimiser, before it has seen any window."""
    model = _minimiser(policy)
    wanted = {
        "random_state": policy.training.seed,
        "loss": policy.training.loss,
        "max_epochs": policy.training.max_epochs,
    }
    known = {key: value for key, value in wanted.items() if key in model.get_params() and value is not None}
    model.set_params(**known)
    return model


def paper_steps(epochs: int | None) -> int:
    """Steps of gradient descent on all windows at once, for each layer of the paper's autoencoder."""
    return STEPS if epochs is None else min(STEPS, STEPS_PER_EPOCH * epochs)


def _minimiser(policy: Policy) -> Minimiser:
    features, channels = policy.training.features, len(policy.stream.channels)
    match policy.training.minimiser:
        case "paper":
            return PaperAutoencoder(features, max_iter=paper_steps(policy.training.max_epochs))
        case "pca":
            return PCA(features)
        case "bcs":
            return BlindCompressiveSensing(features)
        case "dft":
            return DFT(features, channels=channels)
        case "dct":
            return DCT(features, channels=channels)
        case "haar":
            return Haar(features, channels=channels)
    return Autoencoder(features, channels=channels)
