"""Small joint laws of a secret, useful classes and codes; what the best observer makes of a release, exactly."""

from fractions import Fraction
from itertools import product

import numpy as np

from deeprotect.privacy.channel import beyond
from deeprotect.privacy.channel.ratios import WHOLE


def named_rightly(joint, weights):
    """Of a law (secret, useful class of each draw …, code of each draw …): how often the secret is named rightly.

    By the best guesser from useful classes, by the best observer of all draws, and at most.
    """
    draws, codes, tau = (joint.ndim - 1) // 2, joint.shape[-1], float(beyond.furthest_rows(weights))
    secrets = len(joint)
    blind = joint.reshape(secrets, codes**draws, -1).sum(axis=2).max(axis=0).sum()
    seen, channel = joint.sum(axis=tuple(range(1, 1 + draws))), np.array(weights, dtype=float) / WHOLE
    for _ in range(draws):
        seen = np.tensordot(seen, channel, axes=(1, 0))  # the next code goes, and its output comes last
    classes = np.indices(joint.shape[1:])
    misread = (classes[:draws] != classes[draws:]).sum(axis=0)
    excess = (joint.sum(axis=0) * (1 - (1 - tau) ** misread)).sum()
    return blind, seen.reshape(secrets, -1).max(axis=0).sum(), blind + excess


def names_the_secret_by_its_error(weights):
    """Two equally likely secrets and one useful class; of the second secret, the coder always gives the code that is
    furthest from the right one. How often the best observer is right."""
    best = max(
        (sum(max(a, b) for a, b in zip(*pair, strict=True)) for pair in product(weights, repeat=2)), default=WHOLE
    )
    return Fraction(best, 2 * WHOLE)


def bound(tau):
    """The theorem's bound for the law: half of all draws are misclassified, and a coin is right in half."""
    return Fraction(1, 2) + tau * Fraction(1, 2)
