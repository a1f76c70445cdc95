"""A named promise as rows of the channel's programme, for every conditional in the confidence sets at once.

sup p·q over low ≤ p ≤ high, Σp = 1 is min over λ of low·q + (1 − Σlow) λ + Σ (high − low) (q − λ)^+ by duality,
so any λ gives a bound that is never too small; likewise for inf. docs/claims.md#channel-and-named-inferences
"""

import numpy as np

from deeprotect.privacy.channel.betting import UNIT, Floats
from deeprotect.privacy.channel.linear_program import LinearProgram, Places
from deeprotect.privacy.channel.promises import NamedPromise
from deeprotect.privacy.channel.ratios import worst

_VIOLATION = 1e-10


class Robust:
    """One set's promise; outputs are written into the programme only once they are found to bind.

    `group` numbers its λ. Sets that share one for each output keep the programme small and the promise whole; where
    each has its own, the programme is exact.
    """

    def __init__(self, promise: NamedPromise, *, shrink: float, outputs: int, group: int) -> None:
        self.low, self.high = (end / UNIT for end in promise.box)
        self.shrink, self.group = shrink, group
        self._active = np.zeros(outputs, dtype=bool)

    def add_violated(self, probabilities: Floats, *, above: float = _VIOLATION) -> bool:
        """Take up the outputs that tell two conditionals apart too well; whether there were any."""
        most = (worst(probabilities, self.low, self.high) * probabilities).sum(axis=0)
        least = (worst(-probabilities, self.low, self.high) * probabilities).sum(axis=0)
        violated = self.shrink * most - least > above
        self._active |= violated
        return bool(violated.any())

    def add_to(self, programme: LinearProgram, levels: "Levels") -> None:
        """Rows e^-ε sup ≤ inf for the outputs taken up."""
        outputs = np.flatnonzero(self._active)
        upper, lower = (self._bounds(programme, levels, outputs, sign=sign) for sign in (1.0, -1.0))
        if len(outputs):
            programme.add_le_zero((np.array([[self.shrink, -1.0]]), np.stack([upper, lower], axis=1)))

    def _bounds(self, programme: LinearProgram, levels: "Levels", outputs: Places, *, sign: float) -> Places:
        """Places of variables that bound sup (sign 1, from above) or inf (sign -1, from below) of these outputs."""
        places = programme.variables(len(outputs))
        level, parts = levels.of(self.group, sign)
        for place, output in zip(places, outputs, strict=True):
            programme.add_le_zero(
                (sign * self.low[None], programme.channel[None, :, output]),
                ((self.high - self.low)[None], parts[None, :, output]),
                ([[sign * (1.0 - self.low.sum()), -sign]], [[level[output], place]]),
            )
        return places


class Levels:
    """A programme's levels λ, for each group of sets that shares them."""

    def __init__(self, programme: LinearProgram) -> None:
        self._programme = programme
        self._made: dict[tuple[int, float], tuple[Places, Places]] = {}

    def of(self, group: int, sign: float) -> tuple[Places, Places]:
        """A level λ for each output, and (q − λ)^+ for sup or (λ − q)^+ for inf, for each code and output."""
        if (group, sign) not in self._made:
            self._made[group, sign] = self._make(sign)
        return self._made[group, sign]

    def _make(self, sign: float) -> tuple[Places, Places]:
        programme, channel = self._programme, self._programme.channel
        level = programme.variables(channel.shape[1])
        parts = programme.variables(channel.size).reshape(channel.shape)
        levels = np.broadcast_to(level, channel.shape)
        entries = np.stack([channel.ravel(), levels.ravel(), parts.ravel()], axis=1)
        programme.add_le_zero((np.array([[sign, -sign, -1.0]]), entries))
        return level, parts
