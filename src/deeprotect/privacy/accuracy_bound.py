"""The limit: how often anyone, useful or hostile, can guess a label from one window released under ε-LDP."""

import numpy as np
from numpy.typing import ArrayLike

from deeprotect.errors import PolicyError


def best_accuracy(epsilon: float, priors: ArrayLike) -> float:
    """Acc* = max_j e^ε (π_1 + … + π_j) / (e^ε + j − 1), priors in falling order. docs/claims.md#the-limit

    Attained by a release that picks among the j likeliest classes, so no smaller bound holds.

    Examples:
        >>> round(best_accuracy(5.0, [1 / 3, 1 / 3, 1 / 3]), 3)
        0.987
    """
    ordered = _falling(priors)
    if not epsilon >= 0:
        raise PolicyError(f"epsilon = {epsilon} must not be negative")
    others = np.arange(len(ordered))
    # Divided by e^ε above and below: exp(-ε) cannot overflow.
    return float(min(1.0, np.max(np.cumsum(ordered) / (1.0 + others * np.exp(-epsilon)))))


def _falling(priors: ArrayLike) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = np.asarray(priors, dtype=np.float64).ravel()
    if values.size == 0 or not np.isfinite(values).all() or values.min() < 0 or values.sum() <= 0:
        raise PolicyError("priors must be one non-negative number per class, not all zero")
    return np.sort(values / values.sum())[::-1]
