"""What a sequence of draws tells at most: a line-up, in which the attacker knows every suspect's codes beforehand.

Whoever knows only how classes are distributed does no better, since the line-up can be ignored; and one line-up after
another can be measured, whatever codes have to do with each other in time. docs/claims.md#several-draws
"""

import numpy as np

from deeprotect.privacy.channel.betting import UNIT, Floats, Integers, upper_ends


def lineup_accuracy(codes: Integers, probabilities: Floats, *, runs: int, seed: int) -> float:
    """How often the likeliest suspect is right, each as often as any other; `codes` are (suspect, draw)."""
    rng, suspects = np.random.default_rng(seed), len(codes)
    with np.errstate(divide="ignore"):
        logs = np.log(probabilities)
    right = 0.0
    for truth in range(suspects):
        borders = np.cumsum(probabilities[codes[truth]], axis=1)
        drawn = (rng.random((runs, codes.shape[1], 1)) > borders).sum(axis=2).clip(max=probabilities.shape[1] - 1)
        evidence = np.stack([logs[own, drawn].sum(axis=1) for own in codes], axis=1)
        best = evidence >= evidence.max(axis=1, keepdims=True) - 1e-9
        right += float((best[:, truth] / best.sum(axis=1)).mean())
    return right / suspects


def upper_limit(accuracies: Floats, *, confidence: float) -> float:
    """Of the mean accuracy over independent line-ups, and so of any attacker who sees such sequences."""
    return int(upper_ends(accuracies[:, None], miss=1.0 - confidence)[0]) / UNIT
