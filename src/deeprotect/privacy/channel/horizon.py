"""How long until the secret is out: the draws that a best attacker would need if they were independent. An estimate.

P(output | class) is worked out in training, from the channel and the mean shares of codes in calibration recordings;
two classes are told apart by their Chernoff information. A named promise bounds one draw; nothing here is promised.
docs/claims.md#the-horizon
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from deeprotect.errors import quoted
from deeprotect.privacy.channel.betting import Floats
from deeprotect.privacy.channel.calibration import RecordedShares

HALF, THREE_QUARTERS = 0.5, 0.75
_SHARES = 128
_MOST_DRAWS = 1e12
_NODES = 80
_FAR, _POINTS = 9.0, 1 << 16
_UNITS = ((365.25 * 86400, "years"), (86400, "days"), (3600, "hours"), (60, "minutes"), (1, "seconds"))


@dataclass(frozen=True)
class Horizon:
    """Draws until classes of an inference are told apart, all of one useful class where one is `given`.

    `of_all`: until a best attacker names the class rightly half of the time (of two classes, three times in four).
    `of_pair`: until the easiest pair is told apart three times in four. None where calibration shows no difference.
    """

    inference: str
    given: str
    classes: int
    of_all: float | None
    of_pair: float | None


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
    nodes, weights = _nodes()
    apart = 2.0 * np.sqrt(draws * information)
    below = _normal_cdf(apart[:, :, None] - nodes)
    itself = np.arange(len(information))
    below[itself, itself] = 1.0
    return float((below.prod(axis=1) @ weights).mean() / math.sqrt(2.0 * math.pi))


def _normal_cdf(x: Floats) -> Floats:
    """Φ by straight lines between the points of a grid, off by less than 10^-8."""
    values, slopes = _grid()
    place = np.clip((x + _FAR) * (_POINTS / (2.0 * _FAR)), 0.0, _POINTS)
    left = place.astype(np.int32)
    return np.asarray(values[left] + slopes[left] * (place - left))


@cache
def _grid() -> tuple[Floats, Floats]:
    values = [math.erfc(-x / math.sqrt(2.0)) / 2.0 for x in np.linspace(-_FAR, _FAR, _POINTS + 1).tolist()]
    return np.array(values), np.diff(values, append=values[-1])


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Of the quadrature, with their weights."""
    return np.polynomial.hermite_e.hermegauss(_NODES)


def draws_until(share: float, information: Floats) -> float:
    """The least whole number of draws with which `accuracy` is `share`; infinite where no number is enough."""
    if accuracy(_MOST_DRAWS, information) < share:
        return math.inf
    low, high = 0.0, math.log(_MOST_DRAWS)
    while high - low > 1e-4:
        middle = (low + high) / 2.0
        low, high = (low, middle) if accuracy(math.exp(middle), information) >= share else (middle, high)
    return float(math.ceil(math.exp(low)))


def in_words(draws: float | None, seconds_per_draw: float) -> str:
    """A time that nobody takes for exact: "after about 40 minutes"."""
    if draws is None:
        return "never, as far as calibration shows"
    seconds = draws * seconds_per_draw
    size, unit = next((each for each in _UNITS if seconds >= 2 * each[0]), _UNITS[-1])
    counted = "1 draw" if draws == 1 else f"{draws:,.0f} draws"
    return f"after about {float(f'{seconds / size:.2g}'):g} {unit} ({counted})"


def described(found: Sequence[Horizon], *, seconds_per_draw: float) -> Iterator[str]:
    """For `describe`: for each sensitive inference, the useful class that gives it away first; no class is named."""
    for inference in dict.fromkeys(each.inference for each in found):
        several = [each for each in found if each.inference == inference]
        first = min(several, key=lambda each: each.of_all or math.inf)
        pair = min(several, key=lambda each: each.of_pair or math.inf)
        often = "half of the time" if first.classes > 2 else "three times in four"
        alike = ", all of the most telling useful class" if any(each.given for each in several) else ""
        yield (
            f"an attacker is right about {quoted(inference)} {often}: {in_words(first.of_all, seconds_per_draw)}; and "
            f"about its easiest two classes three times in four: {in_words(pair.of_pair, seconds_per_draw)}; at one "
            f"draw every {seconds_per_draw:g} s{alike}"
        )
