"""How much noise a mechanism adds to one code on average, to compare mechanisms before anything is trained."""

from fractions import Fraction

import numpy as np

from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.channel.scripts import ScriptResponse
from deeprotect.privacy.mechanisms.laplace import GridLaplace
from deeprotect.privacy.mechanisms.mechanism import Mechanism


def expected_noise(mechanism: Mechanism) -> float:
    """E‖noise‖₁ of one code in its own units, or of one scaled window; of a channel, the expected cost of a draw."""
    if isinstance(mechanism, GridLaplace):
        terms = zip(mechanism.box.steps, mechanism.scales, strict=True)
        return sum(float(step) * mean_magnitude(scale) for step, scale in terms)
    assert isinstance(mechanism, DiscreteChannel | ScriptResponse)
    return mechanism.expected_error()


def mean_magnitude(scale: Fraction) -> float:
    """E|k| of the discrete Laplace distribution: 2q / (1 - q^2) with q = exp(-1 / scale)."""
    return float(1.0 / np.sinh(1.0 / float(scale))) if scale > Fraction(1, 700) else 0.0
