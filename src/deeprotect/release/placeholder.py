"""Windows for when the budget is spent: public ones, drawn without looking at the data, so that they cost nothing."""

import numpy as np

from deeprotect.privacy.entropy import Entropy
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.privacy.sampling import below
from deeprotect.signals.schema import Floats


def placeholders(mechanism: Mechanism, count: int, *, entropy: Entropy) -> Floats:
    """Noisy codes (count, k) of no window: any public output alike, or noise around the middle of the range."""
    if mechanism.public_outputs is not None:
        return below(mechanism.public_outputs, count, entropy).astype(np.float64)[:, None]
    nothing = np.full((count, mechanism.dim), np.nan)  # every mechanism takes what is no number for the middle
    return mechanism.privatise(nothing, entropy=entropy)
