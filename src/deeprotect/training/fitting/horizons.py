"""How long until the secret is out: the draws that a best attacker would need if they were independent. An estimate.

P(output | class) comes from the channel and the mean shares of codes in calibration recordings; two classes are told
apart by their Chernoff information. docs/claims.md#the-horizon
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr

from deeprotect.privacy.channel.betting import Floats
from deeprotect.privacy.channel.calibration import RecordedShares
from deeprotect.privacy.channel.horizon import Horizon

HALF, THREE_QUARTERS = 0.5, 0.75
_SHARES = 128
_MOST_DRAWS = 1e12
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(80)


def horizons(recorded: RecordedShares, probabilities: Floats) -> Iterator[Horizon]:
    """One for each useful class, or for all draws, with which several classes were recorded."""
    for given, classes in zip(recorded.given, recorded.shares, strict=True):
        means = [shares.mean(axis=0) for shares in classes if len(shares)]
        if len(means) > 1:
            yield _horizon(recorded.inference, given, np.array(means) @ probabilities)


def _horizon(inference: str, given: str, released: Floats) -> Horizon:
    information = chernoff(released)
    pair = np.array([[0.0, information.max()], [information.max(), 0.0]])
    share = HALF if len(released) > 2 else THREE_QUARTERS
    draws = draws_until(share, information), draws_until(THREE_QUARTERS, pair)
    return Horizon(inference, given, len(released), *(None if math.isinf(each) else each for each in draws))


def chernoff(released: Floats) -> Floats:
    """−min over 0 < λ < 1 of ln Σ_o P(o|s)^λ P(o|s')^(1−λ) for each pair of rows, (class, class).

    The exponent is concave in λ: on this grid at most a thousandth of it is lost. Infinite for disjoint supports.
    """
    exponent = np.zeros((len(released), len(released)))
    for share in (1.0 - np.cos(np.pi * (np.arange(_SHARES) + 0.5) / _SHARES)) / 2.0:
        with np.errstate(divide="ignore"):
            np.maximum(exponent, -np.log(released**share @ (released ** (1.0 - share)).T), out=exponent)
    np.fill_diagonal(exponent, 0.0)
    return exponent


def accuracy(draws: float, information: Floats) -> float:
    """How often the likeliest of equally frequent classes is right, by pairwise Chernoff information (class, class).

    Mean over s of ∫ φ(x) Π_{s' ≠ s} Φ(2 √(draws C(s, s')) − x) dx: exact for classes that shift normal evidence in
    directions of their own; 1 / classes without a draw, and Φ(√(2 draws C)) for two classes.
    """
    apart = 2.0 * np.sqrt(draws * information)
    below = ndtr(apart[:, :, None] - _NODES)
    itself = np.arange(len(information))
    below[itself, itself] = 1.0
    return float((below.prod(axis=1) @ _WEIGHTS).mean() / math.sqrt(2.0 * math.pi))


def draws_until(share: float, information: Floats) -> float:
    """The least whole number of draws with which `accuracy` is `share`; infinite where no number is enough."""
    if accuracy(_MOST_DRAWS, information) < share:
        return math.inf
    low, high = 0.0, math.log(_MOST_DRAWS)
    while high - low > 1e-4:
        middle = (low + high) / 2.0
        low, high = (low, middle) if accuracy(math.exp(middle), information) >= share else (middle, high)
    return float(math.ceil(math.exp(low)))
