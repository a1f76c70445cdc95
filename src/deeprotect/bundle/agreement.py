"""Whether a mechanism keeps what the policy beside it promises, and the networks do what the proof assumes."""

import math
from typing import Any

import numpy as np

from deeprotect.bundle.network import Network
from deeprotect.errors import BundleError
from deeprotect.policy import Policy
from deeprotect.privacy.channel import Channel
from deeprotect.privacy.evidence import Linear
from deeprotect.privacy.laplace import GridLaplace
from deeprotect.privacy.mechanism import Mechanism
from deeprotect.privacy.subspace import Subspace
from deeprotect.signals.schema import Floats

_PROBES = 64
_FLOAT32 = 2.0**-24


def check_promise(policy: Policy, mechanism: Mechanism) -> None:
    """Refuse a mechanism that promises less than the policy; ε-LDP includes every other promise at the same ε."""
    stated, event = policy.privacy, mechanism.event
    if event.epsilon > stated.epsilon:
        raise BundleError(f"the mechanism spends ε = {event.epsilon:g}, more than the policy's {stated.epsilon:g}")
    if stated.mechanism not in ("auto", mechanism.name):
        raise BundleError(f"the policy asks for mechanism {stated.mechanism}, not {mechanism.name}")
    if event.guarantee != "ldp":
        _check_weaker(policy, mechanism)
    ceiling = event.epsilon if event.guarantee == "ldp" else getattr(mechanism, "ldp_ceiling", None)
    if stated.ldp_ceiling is not None and (ceiling is None or ceiling > stated.ldp_ceiling):
        raise BundleError(f"the mechanism does not keep the policy's ldp_ceiling {stated.ldp_ceiling:g}")


def _check_weaker(policy: Policy, mechanism: Mechanism) -> None:
    stated, event = policy.privacy, mechanism.event
    if event.guarantee != stated.guarantee:
        raise BundleError(f"the mechanism gives {event.guarantee}, the policy promises {stated.guarantee}")
    forgotten = sorted(set(policy.inferences.sensitive) - set(event.inferences))
    if forgotten:
        raise BundleError(f"the mechanism does not hide '{forgotten[0]}', which the policy names sensitive")
    if event.guarantee == "named" and event.confidence < stated.confidence:
        raise BundleError(
            f"the mechanism's confidence {event.confidence:g} is below the policy's {stated.confidence:g}"
        )


def check_certificate(mechanism: Mechanism, stored: dict[str, Any]) -> None:
    """Refuse a certificate that does not follow from the mechanism's own numbers."""
    derived = mechanism.certificate()
    wrong = sorted(name for name in derived.keys() | stored.keys() if not _same(derived.get(name), stored.get(name)))
    if wrong:
        raise BundleError(f"the certificate does not follow from the mechanism's own numbers: '{wrong[0]}'")


def _same(derived: Any, stored: Any) -> bool:
    """Equal, floats within 1e-9: the solver and the libraries behind a sum differ between machines."""
    if isinstance(derived, float) and isinstance(stored, int | float):
        return math.isclose(derived, stored, rel_tol=1e-9)
    if isinstance(derived, list) and isinstance(stored, list):
        return len(derived) == len(stored) and all(map(_same, derived, stored))
    if isinstance(derived, dict) and isinstance(stored, dict):
        return derived.keys() == stored.keys() and all(_same(derived[name], stored[name]) for name in derived)
    return bool(derived == stored)


def check_networks(mechanism: Mechanism, encoder: Network, decoder: Network) -> str:
    """Run the networks where the proof says what must come out; what was found.

    This catches a network that was exchanged, not one built to pass: only its graph (`verify`) or a signature does.
    """
    match mechanism:
        case GridLaplace(evidence=Linear() as evidence):
            return _check_affine(evidence.weights, encoder)
        case Subspace():
            return _check_identity(encoder)
        case Channel():
            return _check_table(mechanism, decoder)
    return "nothing is assumed about the networks when they run"


def _check_affine(weights: Floats, encoder: Network) -> str:
    windows = probes(weights.shape[1])
    code = encoder(windows)
    offset = code[0]  # the first probe is the window of zeros
    # Two float32 evaluations, each off by (d + 4)u of the magnitudes (Higham 2002, 3.1).
    allowed = 4 * (weights.shape[1] + 4) * _FLOAT32 * (np.abs(weights).sum(axis=1) + np.abs(offset))
    off = np.abs(code - windows @ weights.T - offset)
    if not (off <= allowed).all():
        raise BundleError("encoder.onnx is not the affine map of the certificate's weights; it was exchanged")
    return f"the encoder is the certificate's affine map at {len(windows)} windows, within {off.max():.2g}"


def _check_identity(encoder: Network) -> str:
    windows = probes(encoder.inputs)
    if not np.array_equal(encoder(windows), windows.astype(np.float32).astype(np.float64)):
        raise BundleError("encoder.onnx changes windows, and noise along directions needs them as they are")
    return f"the encoder gives back {len(windows)} windows unchanged"


def _check_table(channel: Channel, decoder: Network) -> str:
    """All indices that a channel can release: nothing is left to chance."""
    indices = len(channel.weights[0]) * channel.variants
    windows = decoder(np.arange(indices, dtype=np.float64)[:, None])
    if not ((windows >= 0) & (windows <= 1)).all():
        raise BundleError("decoder.onnx gives values outside the public range; it was exchanged")
    return f"all {indices} released indices decode to windows in [0, 1]"


def probes(dim: int) -> Floats:
    """Zeros, ones, each value alone, and fixed windows in between: public, the same every time."""
    between = np.random.default_rng(0).uniform(size=(_PROBES, dim))
    return np.vstack([np.zeros((1, dim)), np.ones((1, dim)), np.eye(dim), between])
