"""How well an attack tells members from others: AUC, balanced accuracy, true positives at few false ones."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from deeprotect.attack.predictions import DRAWS, Interval
from deeprotect.signals.schema import Floats
from studies.reproduction.membership.guessing import Members

FALSE_POSITIVES = 0.05
"""Seven of 150 people outside training; lower rates cannot be measured."""


@dataclass(frozen=True)
class Success:
    """Success of one attack, over people × bundles, with 95 % intervals."""

    attack: str
    auc: float
    auc_interval: Interval
    balanced_accuracy: float
    balanced_interval: Interval
    true_positives: float  # at FALSE_POSITIVES

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def measure(attack: str, statistic: Floats, members: Members, *, seed: int = 0) -> Success:
    """Intervals by a bootstrap that draws people and bundles (Owen 2007): those of one person are alike, and so are
    those of one bundle."""
    times = _drawn(members.shape, np.random.default_rng(seed))
    guessed = guesses(statistic, members)
    return Success(
        attack,
        auc(statistic, members),
        _interval(_auc(statistic, members, times)),
        balanced(guessed, members),
        _interval(_balanced(guessed, members, times)),
        true_positives(statistic, members),
    )


def auc(statistic: Floats, members: Members) -> float:
    """The probability that a member's number is larger than another's, ties counted half."""
    return float(_auc(statistic, members, np.ones((1, members.size)))[0])


def balanced(guessed: Members, members: Members) -> float:
    """Mean of the accuracies on members and on others."""
    return float(_balanced(guessed, members, np.ones((1, members.size)))[0])


def guesses(statistic: Floats, members: Members) -> Members:
    """Member or not, for each bundle by the threshold that is best on the others."""
    guessed = np.empty(members.shape, dtype=bool)
    for bundle in range(len(members)):
        others = np.arange(len(members)) != bundle
        known = np.unique(statistic[others])
        thresholds = np.append(-np.inf, (known[1:] + known[:-1]) / 2)
        above = statistic[others][None] > thresholds[:, None, None]
        right = (above & members[others]).sum(axis=(1, 2)) / members[others].sum()
        wrong = (above & ~members[others]).sum(axis=(1, 2)) / (~members[others]).sum()
        guessed[bundle] = statistic[bundle] > thresholds[int(np.argmax(right - wrong))]
    return guessed


def true_positives(statistic: Floats, members: Members) -> float:
    """The share of members above a threshold that at most FALSE_POSITIVES of the others exceed."""
    others = np.sort(statistic[~members])[::-1]
    return float((statistic[members] > others[int(FALSE_POSITIVES * len(others))]).mean())


def _drawn(shape: tuple[int, ...], random: np.random.Generator) -> Floats:
    """(draw, bundle × person): how often each pair comes when bundles and people are drawn with replacement."""
    bundles, people = (random.multinomial(size, np.full(size, 1 / size), size=DRAWS) for size in shape)
    return np.asarray((bundles[:, :, None] * people[:, None, :]).reshape(DRAWS, -1), dtype=np.float64)


def _auc(statistic: Floats, members: Members, times: Floats) -> Floats:
    """AUC for each row of draws (draw, bundle × person); NaN if a draw lacks members or others."""
    values, place = np.unique(statistic, return_inverse=True)
    at = np.eye(len(values))[place.ravel()]
    inside, outside = (times * members.ravel()) @ at, (times * ~members.ravel()) @ at
    below = outside.cumsum(axis=1) - outside / 2
    pairs = inside.sum(axis=1) * outside.sum(axis=1)
    return np.asarray((inside * below).sum(axis=1) / np.where(pairs > 0, pairs, np.nan))


def _balanced(guessed: Members, members: Members, times: Floats) -> Floats:
    shares = []
    for side in (members, ~members):
        total = times @ side.ravel()
        shares.append(times @ (side & (guessed == members)).ravel() / np.where(total > 0, total, np.nan))
    return np.asarray((shares[0] + shares[1]) / 2)


def _interval(values: Floats) -> Interval:
    low, high = np.nanquantile(values, [0.025, 0.975])
    return float(low), float(high)
