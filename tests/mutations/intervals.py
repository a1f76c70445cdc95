"""Wrong intervals, of each layer at either end, and wrong rules behind them: each lets a network leave its bounds."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from tests.mutations.bug import Bug, Patch
from tests.mutations.checks import INTERVALS

from deeprotect.bundle.layers import layer, products
from deeprotect.bundle.layers.erasing import Erase
from deeprotect.bundle.layers.layer import Bounds, Layer, Prepared
from deeprotect.bundle.layers.products import Affine, Convolution, Product, Spectrum, Statistics
from deeprotect.bundle.layers.rounding import Argmax, Clip, Quantise, Round, Scale, Table
from deeprotect.bundle.layers.structure import Concatenation, Flatten, Residual, Unflatten

Ends = tuple[np.ndarray, np.ndarray]
LAYERS = (
    Affine, Argmax, Concatenation, Convolution, Erase, Flatten, Quantise, Residual, Round, Scale, Spectrum, Statistics,
    Table, Unflatten,
)  # fmt: skip


def narrowed(kind: type[Layer], end: str) -> Callable[[Patch], None]:
    """One end further in by 1, or by a thousandth of the interval."""

    def ends(_, __, made: Bounds) -> Ends:
        by = 1.0 if made.whole else (made.high - made.low) / 1024
        return (made.low + by, made.high) if end == "low" else (made.low, made.high - by)

    return stated(kind, ends)


def stated(kind: type[Layer], ends: Callable[[Layer, Bounds, Bounds], Ends]) -> Callable[[Patch], None]:
    """A layer that computes the same and states other ends, of itself, what it is given and what it would state."""

    def plant(patch: Patch) -> None:
        prepare = kind.prepare

        def planted(self: Layer, given: Bounds) -> Prepared:
            prepared = prepare(self, given)
            low, high = ends(self, given, prepared.bounds)
            return replace(prepared, bounds=replace(prepared.bounds, low=low, high=high))

        patch.setattr(kind, "prepare", planted)

    return plant


def instead(owner: object, name: str, value: object) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(owner, name, value)


def not_lifted(self: Clip, given: Bounds) -> Bounds:
    """As if a clip could only make intervals smaller."""
    low, high = np.maximum(np.rint(given.low), self.low), np.minimum(np.rint(given.high), self.high)
    return Bounds(low, high, whole=True)


def of_product(change: Callable[[Product], Product]) -> Callable[[Patch], None]:
    """The interval of another product than the one that runs."""
    bounds = Product.bounds
    return instead(Product, "bounds", lambda self, *ends, **more: bounds(change(self), *ends, **more))


def signs_forgotten(self: Product, low: np.ndarray, high: np.ndarray, *, given: Bounds, op: str) -> Bounds:
    """The least of the inputs for the least of the sum, whatever the signs of the weights."""
    made = _product_bounds(self, low, high, given=given, op=op)
    kernel = self.weights.reshape(-1, len(low), self.weights.shape[-1]).sum(axis=0)
    ends = (np.ldexp(end @ kernel + self.whole_bias, -self.shift) for end in (low, high))
    return replace(made, **dict(zip(("low", "high"), ends, strict=True)))


_product_bounds = Product.bounds


def without_padding(self: Layer, given: Bounds, made: Bounds) -> Ends:
    each = self.product.bounds(*given.hull, given=given, op=self.op)
    return np.tile(each.low, (len(made.low), 1)), np.tile(each.high, (len(made.high), 1))


def statistic(place: int, end: str) -> Callable[[Patch], None]:
    """One of mean, deviation, least and largest, further in at one end."""

    def ends(_: Layer, given: Bounds, made: Bounds) -> Ends:
        channels, found = given.shape[1], {"low": made.low.copy(), "high": made.high.copy()}
        part = slice(place * channels, (place + 1) * channels)
        found[end][part] += (made.high - made.low)[part] / (64 if end == "low" else -64)
        return found["low"], found["high"]

    return stated(Statistics, ends)


def roundings_forgotten(patch: Patch) -> None:
    """Of a spectrum: the interval of exact magnitudes."""
    patch.setattr(products, "ROUNDED_THRICE", 1.0)
    RULES["outward rounding dropped"](patch)


def cosine_alone(self: Layer, given: Bounds, made: Bounds) -> Ends:
    samples = np.arange(given.shape[0])
    turns = np.abs(self.cosine[np.outer(samples[: given.shape[0] // 2 + 1], samples) % given.shape[0]])
    most = np.ldexp(turns.sum(axis=1)[:, None] * given.most.max(axis=0), -self.shift)
    return made.low, most.ravel() * products.ROUNDED_THRICE


RULES = {
    "a clip that lifts not counted": instead(Clip, "bounds", not_lifted),
    "outward rounding dropped": instead(
        Bounds, "rounded", lambda low, high: Bounds(*(e.astype(np.float32).astype(float) for e in (low, high)), False)
    ),
    "least over time wrong": instead(
        Bounds, "hull", property(lambda self: (self.low.max(axis=0), self.high.max(axis=0)))
    ),
    "largest over time wrong": instead(Bounds, "hull", property(lambda self: (self.low.min(axis=0), self.high[0]))),
    "magnitudes without the least": instead(Bounds, "most", property(lambda self: np.abs(self.high))),
    "what overflows is known": instead(layer, "LARGEST", np.inf),
    "sums of 26 bits in float32": instead(layer, "EXACT_FLOAT32", 1 << 26),
    "sums of 56 bits in float64": instead(layer, "EXACT_FLOAT64", 1 << 56),
    "bias forgotten": of_product(lambda self: replace(self, bias=0 * self.bias)),
    "shift of a bias forgotten": of_product(lambda self: replace(self, bias_shift=0)),
    "shift of a product forgotten": of_product(lambda self: replace(self, shift=np.minimum(self.shift, 0))),
    "signs of weights forgotten": instead(Product, "bounds", signs_forgotten),
    "zeros of padding forgotten": stated(Convolution, without_padding),
    "sine forgotten": stated(Spectrum, cosine_alone),
    "roundings of a spectrum forgotten": roundings_forgotten,
    "a table taken to rise": stated(
        Table, lambda self, _, made: (0 * made.low + self.values[0], 0 * made.high + self.values[-1])
    ),
    "a scale turned round": stated(
        Scale, lambda self, given, _: (np.ldexp(given.low, self.shift), np.ldexp(given.high, self.shift))
    ),
    "branches in another order": stated(Concatenation, lambda _, __, made: (made.low[::-1], made.high[::-1])),
    "a branch that is added forgotten": stated(Residual, lambda _, given, __: (given.low, given.high)),
    "channels before time": stated(
        Flatten, lambda _, given, __: (given.low.ravel(order="F"), given.high.ravel(order="F"))
    ),
    "time before channels": stated(
        Unflatten,
        lambda _, given, made: tuple(end.reshape(made.shape, order="F") for end in (given.low, given.high)),
    ),
    "the last code taken for the largest": stated(
        Argmax, lambda self, _, made: (made.low, 0 * made.high + self.codes[-1])
    ),
}
STATISTICS = ("mean", "deviation", "least", "largest")
BUGS = (
    *(Bug(name, plant, (INTERVALS,)) for name, plant in RULES.items()),
    *(
        Bug(f"interval of {kind.op} too small at its {end} end", narrowed(kind, end), (INTERVALS,))
        for kind in LAYERS
        for end in ("low", "high")
    ),
    *(
        Bug(f"interval of a {name} too small at its {end} end", statistic(place, end), (INTERVALS,))
        for place, name in enumerate(STATISTICS)
        for end in ("low", "high")
    ),
)
