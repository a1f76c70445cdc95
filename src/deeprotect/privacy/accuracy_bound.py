"""The limit: how often anyone, useful or hostile, can guess a label from one window released under ε-LDP.

For features in a box with Laplace noise a lower limit holds: few classes can be far apart in one box.
"""

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
    ordered = _falling(epsilon, priors)
    others = np.arange(len(ordered))
    # Divided by e^ε above and below: exp(-ε) cannot overflow.
    return float(min(1.0, np.max(np.cumsum(ordered) / (1.0 + others * np.exp(-epsilon)))))


def best_laplace_accuracy(epsilon: float, priors: ArrayLike) -> float:
    """No reader of features in a box with ε-LDP Laplace noise guesses a label more often than this.

    1 − M / (k − 1) · exp(−ε C / 2M), with M the sum of min(π_i, π_j) over pairs of the k classes, and C a bound on
    the part of it that a cut separates. docs/claims.md#the-limit-of-laplace-noise

    Examples:
        >>> round(best_laplace_accuracy(5.0, [0.5, 0.5]), 3), round(best_laplace_accuracy(5.0, [1 / 7] * 7), 3)
        (0.959, 0.88)
    """
    ordered = _falling(epsilon, priors)
    several, more_likely = np.arange(1, len(ordered) + 1), ordered - np.append(ordered[1:], 0.0)
    pairs = float(more_likely @ (several * (several - 1) / 2))
    cut = float(more_likely @ (several**2 // 4))
    return 1.0 if pairs == 0 else 1.0 - pairs / (len(ordered) - 1) * float(np.exp(-epsilon * cut / (2 * pairs)))


def _falling(epsilon: float, priors: ArrayLike) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = np.asarray(priors, dtype=np.float64).ravel()
    if values.size == 0 or not np.isfinite(values).all() or values.min() < 0 or values.sum() <= 0:
        raise PolicyError("priors must be one non-negative number per class, not all zero")
    if not epsilon >= 0:
        raise PolicyError(f"epsilon = {epsilon} must not be negative")
    return np.sort(values / values.sum())[::-1]
