"""What mechanisms share that add noise to numbers."""

from typing import Any

import numpy as np

from deeprotect.privacy.box import Floats
from deeprotect.privacy.entropy import Entropy
from deeprotect.privacy.sampling import Integers


class NoiseOnNumbers:
    """There is no table of public outputs, and a held draw is the same for every window."""

    public_outputs = None
    dim: Any
    privatise: Any

    def output_of(self, _: Floats) -> None:
        return None

    def placeholders(self, count: int, *, entropy: Entropy) -> Floats:
        """Noisy codes (count, k) of no window: noise around the middle of the range, which NaN counts as."""
        noisy_code: Floats = self.privatise(np.full((count, self.dim), np.nan), entropy=entropy)
        return noisy_code

    def repeat(self, noisy_code: Floats, counts: Integers, *, entropy: Entropy) -> Floats:
        """The same for every window of an episode: there is one draw."""
        del entropy
        return np.repeat(noisy_code, counts, axis=0)
