"""From counts to a lower bound on ε: Clopper–Pearson on both sides of one event that was chosen beforehand."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta

from deeprotect.signals.schema import Floats

CONFIDENCE = 0.95
"""Of all lower bounds of an audit together."""


def confidence_of_each(attacks: int) -> float:
    """So many bounds hold together with CONFIDENCE when each may fail with its share of what is left (Bonferroni)."""
    return 1.0 - (1.0 - CONFIDENCE) / attacks


@dataclass(frozen=True)
class Tally:
    """How often an event followed each of two private inputs; `runs` of each."""

    first: int
    second: int
    runs: int
    confidence: float = CONFIDENCE

    @property
    def epsilon(self) -> float:
        """Not above the true ε with probability at least `confidence`; 0 where nothing is shown."""
        return float(lower_bound(self.first, self.second, self.runs, confidence=self.confidence))


def lower_bound(first: ArrayLike, second: ArrayLike, runs: int, *, confidence: float = CONFIDENCE) -> Floats:
    """ln(p/q) with p from below and q from above, each wrong with half of the probability that is left.

    e^ε ≥ P(event | first) / P(event | second) ≥ p/q unless one of the two ends fails (Clopper and Pearson 1934).
    """
    miss = (1.0 - confidence) / 2.0
    hits, others = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    # With no hit the lower end is 0, with nothing but hits the upper end is 1; beta has no such parameters.
    low = np.where(hits > 0, beta.ppf(miss, np.maximum(hits, 1.0), runs - hits + 1.0), 0.0)
    high = np.where(others < runs, beta.ppf(1.0 - miss, others + 1.0, np.maximum(runs - others, 1.0)), 1.0)
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(low / high), 0.0)
