"""Confidence intervals of measured accuracies."""

import math

NORMAL_95 = 1.959963984540054  # the 97.5 % quantile of the normal distribution

Interval = tuple[float, float]


def wilson(correct: int, total: int) -> Interval:
    """Wilson's 95 % score interval (1927); unlike the textbook one it stays inside [0, 1] and off zero width.

    It takes windows as independent. Neighbouring windows resemble each other, so the true interval is wider.
    """
    if not 0 <= correct <= total or total == 0:
        raise ValueError(f"{correct} correct of {total} is no share")
    share, z2 = correct / total, NORMAL_95**2
    centre = (share + z2 / (2 * total)) / (1 + z2 / total)
    spread = NORMAL_95 * math.sqrt(share * (1 - share) / total + z2 / (4 * total**2)) / (1 + z2 / total)
    # Rounding must not push the share itself out of its interval at 0 and 1.
    return max(0.0, min(share, centre - spread)), min(1.0, max(share, centre + spread))
