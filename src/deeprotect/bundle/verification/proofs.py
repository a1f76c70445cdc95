"""The arithmetic behind each mechanism's ε, redone from integers, counts and linear programmes alone."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from deeprotect.bundle.verification.step import Step
from deeprotect.privacy.channel import Channel
from deeprotect.privacy.confidence import UNIT, Integers, Secret
from deeprotect.privacy.laplace import GridLaplace
from deeprotect.privacy.mechanism import Mechanism
from deeprotect.privacy.ratios import WHOLE, integer_sets, ldp_ratio, log_up, named_ratio
from deeprotect.privacy.relaxed import largest_l1
from deeprotect.privacy.subspace import Subspace, grid_sensitivity


def proofs(mechanism: Mechanism) -> Iterator[Step]:
    """Steps for a mechanism, cheap ones first."""
    match mechanism:
        case GridLaplace():
            yield _grid(mechanism)
        case Subspace():
            yield from _subspace(mechanism)
        case Channel():
            yield from _channel(mechanism)
        case other:
            yield Step("proof", holds=None, found=f"none is known for mechanism {other.name}", needed=True)


def _grid(mechanism: GridLaplace) -> Step:
    stated, box = Fraction(mechanism.event.epsilon), mechanism.box
    epsilon = sum((Fraction(box.cells) / scale for scale in mechanism.scales), Fraction(0))
    found = (
        f"{box.dim} coordinates of {box.cells} whole steps, widths sum to {float(sum(box.widths)):.6g}; noise of "
        f"{_span([float(scale) for scale in mechanism.scales])} steps; Σ steps/noise = {float(epsilon):.9g}"
    )
    return Step("ε from clip box", holds=epsilon <= stated, found=f"{found}, stated {float(stated):g}")


def _subspace(mechanism: Subspace) -> Iterator[Step]:
    directions = mechanism.directions
    off = float(np.abs(directions.T @ directions - np.eye(directions.shape[1])).max())
    found = f"{directions.shape[1]}, orthonormal within {off:.2g}; that they are the inferences' is taken on trust"
    yield Step("directions", holds=off <= 1e-9, found=found)
    largest = largest_l1(np.eye(directions.shape[1]), directions)
    epsilon = grid_sensitivity(largest, directions.shape[1]) / mechanism.scale
    yield Step(
        "ε from programmes",
        holds=epsilon <= Fraction(mechanism.event.epsilon),
        found=f"Δ₁ = {largest}; noise of {float(mechanism.scale):.6g} steps; ε = {float(epsilon):.9g}, "
        f"stated {mechanism.event.epsilon:g}",
    )


def _channel(mechanism: Channel) -> Iterator[Step]:
    rows, outputs = len(mechanism.weights), len(mechanism.weights[0])
    whole = all(sum(row) == WHOLE and min(row) >= 0 for row in mechanism.weights)
    yield Step("integers", holds=whole, found=f"{rows} codes × {outputs} outputs, each row sums to 2^64")
    yield _ldp(mechanism)
    yield Step("noise", holds=None, found=mechanism.noise)
    sets = integer_sets(mechanism.secrets, confidence=mechanism.event.confidence)
    for secret, (low, high) in zip(mechanism.secrets, sets, strict=True):
        yield _named(mechanism, secret, low=low, high=high)


def _named(mechanism: Channel, secret: Secret, *, low: Integers, high: Integers) -> Step:
    epsilon = log_up(named_ratio(mechanism.weights, low, high))
    fewest, widest = int(secret.counts.sum(axis=1).min()), int((high - low).max()) / UNIT
    return Step(
        f"ε for {secret.inference}",
        holds=epsilon <= secret.epsilon,
        found=f"{len(secret.classes)} classes of {fewest}+ windows, intervals up to {widest:.4g} wide, all at once "
        f"with confidence {mechanism.event.confidence:g}; ε = {epsilon:.9g}, stated {secret.epsilon:g}; the counts are "
        "taken as given",
    )


def _ldp(mechanism: Channel) -> Step:
    epsilon = log_up(ldp_ratio(mechanism.weights))
    found = f"largest ratio of integers gives ε = {epsilon:.9g} ldp"
    if mechanism.ldp_ceiling is None:
        return Step("ε from integers", holds=None, found=f"{found}; none is stated")
    holds = epsilon <= mechanism.ldp_ceiling
    return Step("ε from integers", holds=holds, found=f"{found}, stated {mechanism.ldp_ceiling:g}")


def _span(values: list[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
