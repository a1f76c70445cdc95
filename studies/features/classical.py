"""Kinds of features by name: those that a policy can ask for, and classical ones beside them."""

from deeprotect.policy import Policy
from deeprotect.training.feature_extractors.feature_extractor import FeatureExtractor
from deeprotect.training.fitting import fitted_models
from studies.features.sparse import BlindCompressiveSensing
from studies.features.transforms import DCT, DFT, Haar

CLASSICAL = ("pca", "bcs", "dct", "dft", "haar")
KINDS = ("default", "paper", *CLASSICAL)
_TRANSFORMS = {"dct": DCT, "dft": DFT, "haar": Haar}


def untrained(policy: Policy, name: str, *, features: int | None = None) -> FeatureExtractor:
    """An untrained extractor with this many features, or as many as the policy states."""
    count = features or policy.training.features
    if name in _TRANSFORMS:
        return _TRANSFORMS[name](count, channels=len(policy.stream.channels))
    if name == "bcs":
        return BlindCompressiveSensing(count, random_state=policy.training.seed)
    return fitted_models.untrained(policy.vary(training={"feature_extractor": name, "features": count}))
