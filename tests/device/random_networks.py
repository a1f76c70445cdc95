"""Networks made up at random: every kind of layer, whole numbers up to their bounds and a little beyond."""

import numpy as np

from deeprotect.bundle.layers.layer import Reach
from deeprotect.bundle.layers.products import Affine, Convolution, Product, Spectrum, Statistics
from deeprotect.bundle.layers.rounding import Argmax, Bounds, Quantise, Round, Scale, Table
from deeprotect.bundle.layers.structure import Concatenation, Flatten, Residual, Unflatten, prepare
from deeprotect.errors import BundleError

INPUTS = 6
BOUNDS = ((1 << 24) - 1, 1 << 20, 1 << 15, 2047, 64, 1)
SUMS = (1 << 24, 1 << 52)
"""What sums must stay below, in float32 and at all."""
STRANGE = (-3.4e38, 3.4e38, 1e-45, -0.0, np.nan, np.inf, -np.inf, 0.5, 1.5, 2.5, -0.5, 16777216.5)


class Maker:
    """Draws layers that fit what came before; where sums get too large, that is for the reader to refuse."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def network(self) -> tuple:
        layers = (self.quantise(INPUTS),) if self.chance(0.9) else ()
        with np.errstate(all="ignore"):
            return self.chain(layers, Reach.anything(INPUTS), length=self.below(9))

    def rows(self, count: int) -> np.ndarray:
        rows = self.random.normal(size=(count, INPUTS)) * 10.0 ** self.random.integers(-3, 9, size=(count, 1))
        strange = self.random.random(rows.shape) < 0.15
        rows[strange] = self.random.choice(STRANGE, size=int(strange.sum()))
        return rows

    def chain(self, layers: tuple, given: Reach, *, length: int, depth: int = 0) -> tuple:
        for _ in range(length):
            try:
                reach = prepare(layers, given).reach
                layers = (*layers, *self.layer(reach, depth))
            except BundleError:
                break
        return layers

    def layer(self, reach: Reach, depth: int) -> tuple:
        kinds = ["round", "table", "scale", "residual"]
        if not reach.whole and self.chance(0.6):
            kinds = ["round", "round", "scale", "residual"]
        elif len(reach.shape) == 1:
            kinds += ["quantise", "affine", "affine", "unflatten", "unflatten", "unflatten", "concatenation", "argmax"]
        else:
            kinds += ["flatten", "convolution", "convolution", "spectrum", "spectrum", "statistics", "statistics"]
        return getattr(self, f"_{self.random.choice(kinds)}")(reach, depth)

    def quantise(self, values: int) -> Quantise:
        copies, scale = 1 + self.below(3) * self.chance(0.3), 6 * (1 - self.chance(0.05) * 10)
        factor = self.integers(copies, values)
        return Quantise(self.integers(copies, values), scale, np.where(factor == 0, 1, factor), scale, self.bounds())

    def bounds(self) -> Bounds:
        most = int(self.random.choice(BOUNDS))
        return Bounds(0 if self.chance(0.4) else -most, most)

    def product(self, *shape: int, most: np.ndarray) -> Product:
        """Whose sums end next to what they must stay below, or anywhere."""
        weights, outputs = self.integers(*shape), shape[-1]
        sums = np.abs(weights).reshape(-1, outputs).astype(np.float64)
        sums = np.tile(most, len(sums) // len(most)) @ sums
        room = float(self.random.choice(SUMS)) - float(sums.max())
        if room >= 1 and np.isfinite(room) and self.chance(0.5):
            bias_shift = max(0, int(room).bit_length() - 15)
            bias = np.full(outputs, min(int(room) >> bias_shift, 32766) + self.below(3) - 1, np.int32)
        else:
            bias_shift, bias = self.below(8), self.integers(outputs)
        shift = self.random.choice([0, 0, 3, 9, 17, -2], size=outputs if self.chance(0.5) else 1)
        shift = np.where(self.random.random(outputs) < 0.03, -64, np.broadcast_to(shift, outputs))
        return Product(weights, bias, bias_shift, shift.astype(np.int32))

    def integers(self, *shape: int) -> np.ndarray:
        most = int(self.random.choice([2, 127, 127, 32767]))
        return self.random.integers(-most, most + 1, size=shape).astype(np.int32)

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def below(self, count: int) -> int:
        return int(self.random.integers(count))

    def _quantise(self, reach, _):
        return (self.quantise(reach.shape[0]),)

    def _round(self, *_):
        return (Round(self.bounds()),)

    def _table(self, *_):
        return (Table(self.integers(2 + self.below(300)), -self.below(200)),)

    def _scale(self, *_):
        return (Scale(64 * (1 - 2 * self.below(2)) if self.chance(0.3) else self.below(20) - 6),)

    def _affine(self, reach, _):
        return (Affine(self.product(reach.shape[0], 1 + self.below(6), most=reach.most)),)

    def _convolution(self, reach, _):
        width = 1 + self.below(min(4, reach.shape[0]))
        product = self.product(width, reach.shape[1], 1 + self.below(4), most=reach.most.max(axis=0))
        return (Convolution(product, stride=1 + self.below(2), padding=self.below(width)),)

    def _spectrum(self, reach, _):
        waves = (self.integers(reach.shape[0]) for _ in range(2))
        return (Spectrum(*waves, int(self.random.choice([0, 7, 14, -3, -64]))),)

    def _statistics(self, *_):
        return (Statistics(),)

    def _unflatten(self, reach, _):
        values = reach.shape[0]
        return (Unflatten(int(self.random.choice([each for each in range(1, values + 1) if values % each == 0]))),)

    def _flatten(self, *_):
        return (Flatten(),)

    def _residual(self, reach, depth):
        inner = self.chain((), reach, length=self.below(3) if depth < 3 else 0, depth=depth + 1)
        return (Residual(inner),)

    def _concatenation(self, reach, depth):
        if depth >= 3 or reach.shape[0] > 200:
            return ()
        lengths = [self.below(4) for _ in range(1 + self.below(3))]
        branches = [self.chain((), reach, length=length, depth=depth + 1) for length in lengths]
        return (Concatenation(tuple(self._flattened(branch, reach) for branch in branches)),)

    def _flattened(self, branch, reach):
        return (*branch, Flatten()) if len(prepare(branch, reach).reach.shape) == 2 else branch

    def _argmax(self, reach, _):
        values = reach.shape[0]
        classes = (2, values - 2) if values > 3 and self.chance(0.5) else (values,)
        codes = self.random.integers(9, size=int(np.prod(classes))).astype(np.int32)
        return (Argmax(classes, codes),)
