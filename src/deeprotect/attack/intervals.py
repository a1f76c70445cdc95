"""Confidence intervals of measured accuracies."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, t

DRAWS = 1000
FEWEST_CLUSTERS = 5

Interval = tuple[float, float]


def wilson(correct: int, total: int) -> Interval:
    """Wilson's 95 % score interval (1927); unlike the textbook one it stays inside [0, 1] and off zero width.

    It takes windows as independent. Neighbouring windows resemble each other, so the true interval is wider:
    see `clustered`.
    """
    if not 0 <= correct <= total or total == 0:
        raise ValueError(f"{correct} correct of {total} is no share")
    low, high = binomtest(correct, total).proportion_ci(method="wilson")
    return float(low), float(high)


def of_people(accuracies: NDArray[np.float64]) -> Interval | None:
    """95 % interval of the mean over people, Student's (1908): what to expect of people like these, not of these.

    Few people differ much, and the interval says so; a bootstrap over ten of them would be too narrow. None for one.
    """
    count = len(accuracies)
    if count < 2:
        return None
    half = float(t.ppf(0.975, count - 1) * accuracies.std(ddof=1) / np.sqrt(count))
    return max(0.0, float(accuracies.mean()) - half), min(1.0, float(accuracies.mean()) + half)


def clustered(right: NDArray[np.bool_], cluster: NDArray[np.int64], *, seed: int = 0) -> Interval:
    """95 % interval of the share of right predictions whose windows come in clusters (segments of one recording).

    The hull of Wilson's interval and a bootstrap that draws whole clusters (Field and Welsh 2007). Fewer than five
    clusters: Wilson's alone, for so few hardly say how much clusters differ, and their resamples repeat each other;
    the true interval may then be much wider.
    """
    total = len(right)
    low, high = wilson(int(right.sum()), total)
    _, place, sizes = np.unique(cluster, return_inverse=True, return_counts=True)
    if len(sizes) < FEWEST_CLUSTERS:
        return low, high
    correct = np.bincount(place, weights=right)
    times = np.random.default_rng(seed).multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=DRAWS)
    lowest, highest = np.quantile((times @ correct) / (times @ sizes), [0.025, 0.975])
    return min(low, float(lowest)), max(high, float(highest))
