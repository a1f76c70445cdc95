"""A named promise as rows of the channel's programme, for every conditional in the confidence sets at once.

sup p·q over low ≤ p ≤ high, Σp = 1 is min over λ of low·q + (1 − Σlow) λ + Σ (high − low) (q − λ)^+ by duality,
so any λ gives a bound that is never too small; likewise for inf. docs/claims.md#channel-and-named-inferences
"""

import numpy as np
from numpy.typing import NDArray

from deeprotect.privacy.channel.calibration import Floats, worst
from deeprotect.privacy.channel.linear_program import LinearProgram, Places

_VIOLATION = 1e-10
_PAIRS = 3  # pairs of classes added for each output and round


class Robust:
    """One table's promise; classes are written into the programme only once they are found to bind.

    `groups` numbers the λ of each class. Classes, of this table or of several, that share one for each output keep
    the programme small and the promise whole; where each class has its own, the programme is exact.
    """

    def __init__(self, low: Floats, high: Floats, *, shrink: float, outputs: int, groups: Places) -> None:
        self.low, self.high, self.shrink = low, high, shrink
        self.groups = groups
        self._upper = np.zeros((len(low), outputs), dtype=bool)
        self._lower = np.zeros((len(low), outputs), dtype=bool)

    def add_violated(self, probabilities: Floats, *, above: float = _VIOLATION) -> bool:
        """Take up the pairs of classes that the channel tells apart too well; whether there were any."""
        excess = self._excess(probabilities)
        pairs = excess.reshape(-1, excess.shape[2])
        chosen = np.argsort(-pairs, axis=0, kind="stable")[:_PAIRS]
        keep = np.take_along_axis(pairs, chosen, axis=0) > above
        output = np.broadcast_to(np.arange(pairs.shape[1]), chosen.shape)[keep]
        self._upper[chosen[keep] // len(self.low), output] = True
        self._lower[chosen[keep] % len(self.low), output] = True
        return bool(keep.any())

    def _excess(self, probabilities: Floats) -> Floats:
        """e^-ε sup_s − inf_s' for each pair of classes and output, shape (s, s', output)."""
        most = np.einsum("szj,zj->sj", worst(probabilities, self.low, self.high), probabilities)
        least = np.einsum("szj,zj->sj", worst(-probabilities, self.low, self.high), probabilities)
        excess = self.shrink * most[:, None] - least[None]
        if len(self.low) > 1:
            same = np.arange(len(self.low))
            excess[same, same] = -np.inf  # a class is not told apart from itself
        return np.asarray(excess)

    def add_to(self, programme: LinearProgram, levels: "Levels") -> None:
        """Rows e^-ε sup_s ≤ inf_s' for the classes taken up."""
        upper = self._bounds(programme, levels, self._upper, sign=1.0)
        lower = self._bounds(programme, levels, self._lower, sign=-1.0)
        for output in range(self._upper.shape[1]):
            above, below = np.flatnonzero(self._upper[:, output]), np.flatnonzero(self._lower[:, output])
            first, second = (side.ravel() for side in np.meshgrid(above, below))
            differ = (first != second) | (len(self.low) == 1)
            first, second = first[differ], second[differ]
            if len(first):
                pair = np.stack([upper[first, output], lower[second, output]], axis=1)
                programme.add_le_zero((np.array([[self.shrink, -1.0]]), pair))

    def _bounds(self, programme: LinearProgram, levels: "Levels", active: NDArray[np.bool_], *, sign: float) -> Places:
        """Places of variables that bound sup (sign 1, from above) or inf (sign -1, from below) for active classes."""
        places = np.full(active.shape, -1)
        places[active] = programme.variables(int(active.sum()))
        for group in np.unique(self.groups[active.any(axis=1)]):
            level, parts = levels.of(int(group), sign)
            for s, output in np.argwhere(active & (self.groups == group)[:, None]):
                low, width = self.low[s], self.high[s] - self.low[s]
                programme.add_le_zero(
                    (sign * low[None], programme.channel[None, :, output]),
                    (width[None], parts[None, :, output]),
                    ([[sign * (1.0 - low.sum()), -sign]], [[level[output], places[s, output]]]),
                )
        return places


class Levels:
    """A programme's levels λ, for each group of classes that shares them."""

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
