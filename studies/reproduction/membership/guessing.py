"""Guesses from scores: a threshold for all people, or each person's own likelihood ratio from other bundles."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from deeprotect.signals.schema import Floats

Members = NDArray[np.bool_]
"""(bundle, person): whether the person took part in the bundle's training."""
TOGETHER = "all scores"
REFERENCE = ", against other bundles"


def attacks(scores: Mapping[str, Floats], members: Members) -> dict[str, Floats]:
    """Every attack's statistic (bundle, person), larger where it is likelier that the person took part.

    Scores (bundle, person) are standardised inside a bundle: an attacker has windows of many people. Whatever is learnt
    about memberships is learnt from the other bundles.
    """
    plain = {name: _standardised(each) for name, each in scores.items()}
    ratios = {name + REFERENCE: likelihood_ratio(each, members) for name, each in plain.items()}
    together = {TOGETHER: _weighed(list(plain.values()), members), TOGETHER + REFERENCE: sum(ratios.values())}
    return {**plain, **ratios, **together}  # type: ignore[dict-item]  # a sum of arrays is one


def likelihood_ratio(scores: Floats, members: Members) -> Floats:
    """log p(score | took part) - log p(score | did not), each a normal law of this person's scores in other bundles.

    LiRA of Carlini et al. (2022), online, with one variance for all: so few bundles say nothing about a person's own.
    The variance of a prediction is that of a score times 1 + 1/n, for the mean of n is not known either.
    """
    ratios = np.zeros_like(scores)
    for bundle in range(len(scores)):
        others = np.arange(len(scores)) != bundle
        laws = [_law(scores[others], side) for side in (members[others], ~members[others])]
        variance = sum(left for _, _, left in laws) / max(1, sum(count.sum() - len(count) for _, count, _ in laws))
        logs = [_log_normal(scores[bundle] - mean, max(variance, 1e-12) * (1 + 1 / count)) for mean, count, _ in laws]
        ratios[bundle] = logs[0] - logs[1]
    return ratios


def _law(scores: Floats, here: Members) -> tuple[Floats, Floats, float]:
    """Each person's mean over the bundles where `here` holds, how many those are, and what is left of squares."""
    count = np.maximum(here.sum(axis=0), 1).astype(np.float64)
    mean = (scores * here).sum(axis=0) / count
    return mean, count, float(((scores - mean) ** 2 * here).sum())


def _log_normal(away: Floats, variance: Floats) -> Floats:
    return np.asarray(-0.5 * (away**2 / variance + np.log(variance)))


def _standardised(scores: Floats) -> Floats:
    spread = scores.std(axis=1, keepdims=True)
    return np.asarray((scores - scores.mean(axis=1, keepdims=True)) / np.where(spread > 1e-12, spread, 1.0))


def _weighed(scores: list[Floats], members: Members) -> Floats:
    """Ridge regression of membership on all scores, learnt from the other bundles."""
    stacked, wanted = np.stack(scores, axis=-1), 2.0 * members - 1
    statistic = np.empty(members.shape)
    for bundle in range(len(members)):
        others = np.arange(len(members)) != bundle
        known = stacked[others].reshape(-1, len(scores))
        weights = np.linalg.solve(known.T @ known + np.eye(len(scores)), known.T @ wanted[others].ravel())
        statistic[bundle] = stacked[bundle] @ weights
    return statistic
