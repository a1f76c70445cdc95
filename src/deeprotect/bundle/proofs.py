"""The proof behind each mechanism's ε, redone from integers, counts, linear programmes and the ONNX graph itself."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from deeprotect.bundle import graph
from deeprotect.bundle.agreement import probes
from deeprotect.bundle.bundle import DECODER, ENCODER, Bundle
from deeprotect.bundle.precision import float32_error
from deeprotect.bundle.step import Step
from deeprotect.errors import BundleError, InputError
from deeprotect.privacy.channel import Channel
from deeprotect.privacy.confidence import UNIT, Integers, Secret
from deeprotect.privacy.evidence import Bound, Evidence, Linear, Relaxed
from deeprotect.privacy.laplace import GridLaplace
from deeprotect.privacy.network import Affine, Layer, interval, lipschitz
from deeprotect.privacy.ratios import WHOLE, integer_sets, ldp_ratio, log_up, named_ratio
from deeprotect.privacy.relaxed import largest_l1
from deeprotect.privacy.subspace import Subspace, grid_sensitivity
from deeprotect.signals.schema import Floats

_NO_ONNX = "the onnx package is not installed; `pip install deeprotect[train]` adds it"


def proofs(bundle: Bundle) -> Iterator[Step]:
    """Steps for the bundle's mechanism, cheap ones first."""
    match bundle.mechanism:
        case GridLaplace() as mechanism:
            yield from _grid(mechanism, bundle)
        case Subspace() as mechanism:
            yield from _subspace(mechanism, bundle)
        case Channel() as mechanism:
            yield from _channel(mechanism, bundle)
        case other:
            yield Step("proof", holds=None, found=f"none is known for mechanism {other.name}", needed=True)


def _grid(mechanism: GridLaplace, bundle: Bundle) -> Iterator[Step]:
    stated, box = Fraction(mechanism.event.epsilon), mechanism.box
    clip = sum((Fraction(box.cells) / scale for scale in mechanism.scales), Fraction(0))
    enough = clip <= stated
    found = (
        f"{box.dim} coordinates of {box.cells} whole steps, widths sum to {float(sum(box.widths)):.6g}; noise of "
        f"{_span([float(scale) for scale in mechanism.scales])} steps; Σ steps/noise = {float(clip):.9g}"
    )
    if enough or mechanism.evidence is None:
        yield Step("ε from clip box", holds=enough, found=f"{found}, stated {float(stated):g}")
    else:
        yield Step("ε from clip box", holds=None, found=f"{found} ldp; the stated {float(stated):g} needs the encoder")
    yield from _encoder(mechanism, bundle, needed=not enough)


def _encoder(mechanism: GridLaplace, bundle: Bundle, *, needed: bool) -> Iterator[Step]:
    yield _open("graphs", lambda: _closed(bundle))
    yield _open("interval bounds", lambda: _intervals(bundle))
    if mechanism.evidence is not None:
        evidence = mechanism.evidence
        yield _open("encoder", lambda: _same_encoder(evidence, bundle), needed=needed)
        yield _open("ε from encoder", lambda: _epsilon(mechanism, evidence, bundle), needed=needed)


def _open(name: str, check: Callable[[], str], *, needed: bool = False) -> Step:
    """A step that reads a graph: left open where onnx is absent or the graph is of another kind."""
    if not graph.present():
        return Step(name, holds=None, found=f"not checked: {_NO_ONNX}", needed=needed)
    try:
        return Step(name, holds=True, found=check(), needed=needed)
    except graph.UnknownStepError as error:
        return Step(name, holds=None, found=f"no bound: {error}", needed=needed)
    except InputError as error:
        return Step(name, holds=False, found=str(error), needed=needed)


def _layers(bundle: Bundle) -> list[Layer]:
    return graph.layers_of(bundle.files[ENCODER], bundle.schema.dim)


def _closed(bundle: Bundle) -> str:
    kinds = [f"{name}: {', '.join(graph.operators(bundle.files[name]))}" for name in (ENCODER, DECODER)]
    return f"nothing from outside; {'; '.join(kinds)}"


def _intervals(bundle: Bundle) -> str:
    """Bounds through the graph; windows run by onnxruntime must stay inside, or the graph was read wrongly."""
    dim, layers = bundle.schema.dim, _layers(bundle)
    low, high = interval(layers, np.zeros(dim), np.ones(dim))
    error = float32_error(layers, dim)
    code = bundle.encoder(probes(dim))
    if not ((code >= low - error) & (code <= high + error)).all():
        raise BundleError("codes leave the bounds of the graph; it does not compute what it says")
    return (
        f"{len(layers)} layers, widths sum to {float((high - low).sum()):.6g}; "
        f"float32 within {float(error.max()):.3g}; {len(code)} windows run stay inside"
    )


def _same_encoder(evidence: Evidence, bundle: Bundle) -> str:
    """The certificate speaks of the encoder that is there."""
    layers = _layers(bundle)
    if isinstance(evidence, Relaxed):
        found = lipschitz(layers)
        if found > evidence.lipschitz * (1 + 1e-6):  # float32 rounding of weights
            raise BundleError(
                f"the graph's Lipschitz bound is {found:.9g}, the certificate says {evidence.lipschitz:.9g}"
            )
        return f"Lipschitz bound from the graph {found:.9g}, certificate {evidence.lipschitz:.9g}"
    weights = _affine(layers).weights
    if weights.shape != evidence.weights.shape or (weights != evidence.weights.astype(np.float32)).any():
        raise BundleError("the graph's weights are not the certificate's; the encoder was exchanged")
    return f"all {weights.size} weights of the graph are the certificate's"


def _affine(layers: list[Layer]) -> Affine:
    if len(layers) != 1 or not isinstance(layers[0], Affine):
        raise BundleError("the graph is not one affine map, as the certificate says")
    return layers[0]


def _epsilon(mechanism: GridLaplace, stored: Evidence, bundle: Bundle) -> str:
    """ε with the graph's own numbers in place of the certificate's, float32 included."""
    layers, box, scales = _layers(bundle), mechanism.box, mechanism.scales
    evidence = _evidence(layers, stored)
    bound = evidence.bound(box, mechanism.shape)
    slack = _slack(mechanism, bound, float32_error(layers, bundle.schema.dim))
    per_unit = max(part / (step * scale) for part, step, scale in zip(bound.shape, box.steps, scales, strict=True))
    rounding = sum((Fraction(steps) / scale for steps, scale in zip(slack, scales, strict=True)), Fraction(0))
    epsilon, stated = bound.total * per_unit + rounding, mechanism.event.epsilon
    found = f"Δ₁ = {evidence.sensitivity(mechanism.shape)}; {max(slack)} steps for rounding and float32; ε = "
    if epsilon <= stated:
        return f"{found}{float(epsilon):.9g}, stated {stated:g}"
    if mechanism.clip_epsilon <= stated:
        return f"{found}{float(epsilon):.9g}; the clip box's is smaller and counts"
    raise BundleError(f"{found}{float(epsilon):.9g}, more than the stated {stated:g}")


def _evidence(layers: list[Layer], stored: Evidence) -> Evidence:
    if isinstance(stored, Linear):
        return Linear(_affine(layers).weights)
    return replace(stored, lipschitz=lipschitz(layers))


def _slack(mechanism: GridLaplace, bound: Bound, error: Floats) -> list[int]:
    """Steps by which two codes can come apart: one by rounding to the grid, the rest by float32, once for each code."""
    terms = zip(bound.slack, error.tolist(), mechanism.box.steps, strict=True)
    return [max(allowed, 1 + math.ceil(2 * off / float(step))) for allowed, off, step in terms]


def _subspace(mechanism: Subspace, bundle: Bundle) -> Iterator[Step]:
    yield _open("graphs", lambda: _closed(bundle))
    yield _open("encoder", lambda: _identity(bundle))  # a release goes past it; other programs may run it
    directions = mechanism.directions
    off = float(np.abs(directions.T @ directions - np.eye(directions.shape[1])).max())
    yield Step("directions", holds=off <= 1e-9, found=f"{directions.shape[1]}, orthonormal within {off:.2g}")
    largest = largest_l1(np.eye(directions.shape[1]), directions)
    epsilon = grid_sensitivity(largest, directions.shape[1]) / mechanism.scale
    yield Step(
        "ε from programmes",
        holds=epsilon <= Fraction(mechanism.event.epsilon),
        found=f"Δ₁ = {largest}; noise of {float(mechanism.scale):.6g} steps; ε = {float(epsilon):.9g}, "
        f"stated {mechanism.event.epsilon:g}",
    )


def _identity(bundle: Bundle) -> str:
    if _layers(bundle):
        raise BundleError("the encoder's graph is not the identity; noise along directions needs windows as they are")
    return "the graph is the identity"


def _channel(mechanism: Channel, bundle: Bundle) -> Iterator[Step]:
    rows, outputs = len(mechanism.weights), len(mechanism.weights[0])
    whole = all(sum(row) == WHOLE and min(row) >= 0 for row in mechanism.weights)
    yield Step("integers", holds=whole, found=f"{rows} codes × {outputs} outputs, each row sums to 2^64")
    yield _ldp(mechanism)
    sets = integer_sets(mechanism.secrets, confidence=mechanism.event.confidence)
    for secret, (low, high) in zip(mechanism.secrets, sets, strict=True):
        yield _named(mechanism, secret, low=low, high=high)
    yield _open("graphs", lambda: _closed(bundle))
    yield _open("decoder", lambda: _table(mechanism, bundle))


def _named(mechanism: Channel, secret: Secret, *, low: Integers, high: Integers) -> Step:
    epsilon = log_up(named_ratio(mechanism.weights, low, high))
    fewest, widest = int(secret.counts.sum(axis=1).min()), int((high - low).max()) / UNIT
    return Step(
        f"ε for {secret.inference}",
        holds=epsilon <= secret.epsilon,
        found=f"{len(secret.classes)} classes of {fewest}+ windows, cells at {mechanism.event.confidence:g} up to "
        f"{widest:.4g} wide; ε = {epsilon:.9g}, stated {secret.epsilon:g}; the counts are taken as given",
    )


def _ldp(mechanism: Channel) -> Step:
    ratio = ldp_ratio(mechanism.weights)
    epsilon = log_up(ratio)
    found = f"largest ratio of integers gives ε = {epsilon:.9g} ldp"
    if mechanism.ldp_ceiling is None:
        return Step("ε from integers", holds=None, found=f"{found}; none is stated")
    holds = epsilon <= mechanism.ldp_ceiling
    return Step("ε from integers", holds=holds, found=f"{found}, stated {mechanism.ldp_ceiling:g}")


def _table(mechanism: Channel, bundle: Bundle) -> str:
    rows, values = graph.rows_of_table(bundle.files[DECODER])
    wanted = len(mechanism.weights[0]) * mechanism.variants
    if (rows, values) != (wanted, bundle.schema.dim):
        raise BundleError(f"the decoder's table is {rows} × {values}, not {wanted} × {bundle.schema.dim}")
    return f"a table of {rows} public windows, {len(mechanism.weights[0])} outputs × {mechanism.variants} variants"


def _span(values: list[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
