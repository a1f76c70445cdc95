"""How much noise a mechanism adds to one code on average, to compare mechanisms before anything is trained."""

from fractions import Fraction

import numpy as np

from deeprotect.privacy.box import Floats
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.channel.scripts import ScriptResponse
from deeprotect.privacy.mechanisms.laplace import GridLaplace
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.privacy.mechanisms.subspace import Subspace


def expected_noise(mechanism: Mechanism) -> float:
    """E‖noise‖₁ of one code in its own units, or of one scaled window; of a channel, the expected cost of a draw."""
    if isinstance(mechanism, GridLaplace):
        terms = zip(mechanism.box.steps, mechanism.scales, strict=True)
        return sum(float(step) * mean_magnitude(scale) for step, scale in terms)
    if isinstance(mechanism, Subspace):
        step = float(mechanism.noise_scales[0]) / float(mechanism.scale)
        return step * mean_magnitude(mechanism.scale) * float(_mean_mixture(mechanism.directions).sum())
    assert isinstance(mechanism, DiscreteChannel | ScriptResponse)
    return mechanism.expected_error()


def mean_magnitude(scale: Fraction) -> float:
    """E|k| of the discrete Laplace distribution: 2q / (1 - q^2) with q = exp(-1 / scale)."""
    return float(1.0 / np.sinh(1.0 / float(scale))) if scale > Fraction(1, 700) else 0.0


def _mean_mixture(rows: Floats) -> Floats:
    """E|Σ_j c_j η_j| for each row c and independent Laplace η of scale 1.

    E|X| = (2/π) ∫ (1 − φ(t)) / t² dt with φ(t) = Π_j 1 / (1 + c_j² t²); t = tan θ / ‖c‖, Gauss–Legendre in θ.
    """
    length = np.linalg.norm(rows, axis=1)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    theta = (nodes + 1.0) * np.pi / 4.0
    unit = rows / np.where(length > 0, length, 1.0)[:, None]
    characteristic = np.prod(1.0 / (1.0 + (unit[:, :, None] * np.tan(theta)) ** 2), axis=1)
    return np.asarray(length * ((1.0 - characteristic) / np.sin(theta) ** 2 @ weights) / 2.0)
