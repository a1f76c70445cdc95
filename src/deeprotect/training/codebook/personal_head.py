"""A personal head: the last layer of a coder, retrained on seconds of one person's labelled windows.

The layers below do not change. The head stays near the one learnt from many people: logistic regression with a Gaussian
prior around it, so that a few windows move it little, and classes that the person did not show not at all.
"""

from dataclasses import dataclass
from typing import Self, cast

import numpy as np
from scipy.optimize import minimize

from deeprotect.bundle.layers.products import Affine
from deeprotect.bundle.layers.rounding import Argmax, Round
from deeprotect.bundle.network import Network
from deeprotect.errors import BundleError, TableError
from deeprotect.signals.schema import Floats
from deeprotect.training.codebook.coder import LARGEST_SCORE, SCORE_BITS
from deeprotect.training.export import COARSE, LayerBuilder
from deeprotect.training.labelled_windows import MISSING, Indices

NEARNESS = 20.0
"""Precision of the prior around the learnt weights, if the head's inputs have a mean square of 1. Chosen on six people
of `watch` and seven of `hapt`: docs/results.md#with-ten-seconds-of-enrolment"""
MOST_STEPS = 300


@dataclass(frozen=True)
class CoderParts:
    """A coder: the layers below its head; the head, (value, class) and (class,), in units of scores; and the
    decision."""

    below: Network
    weights: Floats
    bias: Floats
    decision: Argmax

    @classmethod
    def of(cls, encoder: Network) -> Self:
        """Split an encoder; refuse one that does not end in a head, its rounding and a decision."""
        below, last = encoder.layers[:-3], encoder.layers[-3:]
        if tuple(map(type, last)) != (Affine, Round, Argmax):
            raise BundleError(
                "the bundle's encoder has no head for classes; enrol with a bundle whose mechanism is channel"
            )
        head, decision = cast(Affine, last[0]), cast(Argmax, last[2])
        product = head.product
        scale = product.shift + SCORE_BITS
        weights, bias = np.ldexp(product.weights.astype(np.float64), -scale), np.ldexp(product.whole_bias, -scale)
        return cls(Network(below, encoder.inputs), weights, bias, decision)

    def with_head(self, weights: Floats, bias: Floats, hidden: Floats) -> Network:
        """The same coder with another head, in whole numbers; `hidden` holds samples of the head's input."""
        builder = LayerBuilder(hidden, COARSE, bounds=self.below.bounds)
        builder.affine(weights, bias)
        builder.to_grid(SCORE_BITS, low=-LARGEST_SCORE, high=LARGEST_SCORE)
        return Network((*self.below.layers, *builder.layers, self.decision), self.below.inputs)


def personal(encoder: Network, flat: Floats, codes: Indices) -> Network:
    """The encoder with a head of one person, from flat windows (window, value) and codes (window, inference) as
    classes.

    A window without a label of an inference does not affect it.
    """
    parts = CoderParts.of(encoder)
    hidden = parts.below(flat)
    size = float(np.sqrt(np.square(hidden).mean())) or 1.0
    weights, bias, end = parts.weights.copy(), parts.bias.copy(), 0
    for column, count in enumerate(parts.decision.classes):
        block, end = slice(end, end + count), end + count
        known = codes[:, column] != MISSING
        shown = np.unique(codes[known, column])
        if len(shown) < 2:
            continue
        places = np.arange(block.start, block.stop)[shown]
        moved = _moved(
            hidden[known] / size,
            np.searchsorted(shown, codes[known, column]),
            weights=weights[:, places] * size,
            bias=bias[places],
        )
        weights[:, places], bias[places] = moved[0] / size, moved[1]
    if (weights == parts.weights).all():
        raise TableError("the labels show fewer than two classes of each useful inference; label two or more")
    return parts.with_head(weights, bias, hidden)


def _moved(hidden: Floats, truth: Indices, *, weights: Floats, bias: Floats) -> tuple[Floats, Floats]:
    """The most likely head given these windows and the prior around the existing head."""
    wanted = np.eye(len(bias))[truth]
    given = hidden @ weights + bias
    rows = np.hstack([hidden, np.ones((len(hidden), 1))])

    def loss(flat: Floats) -> tuple[float, Floats]:
        scores = given + rows @ flat.reshape(-1, len(bias))
        scores -= scores.max(axis=1, keepdims=True)
        total = np.exp(scores).sum(axis=1, keepdims=True)
        value = float((np.log(total[:, 0]) - (wanted * scores).sum(axis=1)).sum() + NEARNESS / 2 * (flat @ flat))
        return value, (rows.T @ (np.exp(scores) / total - wanted)).ravel() + NEARNESS * flat

    start = np.zeros(rows.shape[1] * len(bias))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS})
    step = found.x.reshape(-1, len(bias))
    return weights + step[:-1], bias + step[-1]
