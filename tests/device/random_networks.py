"""Random networks: every kind of layer, integers up to their bounds and a little beyond."""

import numpy as np

from deeprotect.bundle.layers.erasing import Erase
from deeprotect.bundle.layers.layer import Bounds
from deeprotect.bundle.layers.products import Affine, Convolution, Product, Spectrum, Statistics
from deeprotect.bundle.layers.rounding import Argmax, Clip, Quantise, Round, Scale, Table
from deeprotect.bundle.layers.structure import Concatenation, Flatten, Residual, Unflatten, prepare
from deeprotect.errors import BundleError

INPUTS = 6
ENDS = ((1 << 24) - 1, 1 << 20, 46341, 1 << 15, 2047, 64, 1)
"""Bounds of clips; 46,341² is the first square beyond 31 bits."""
SUMS = (1 << 24, 1 << 24, 1 << 52, 1 << 52, 1 << 54)
"""What sums must stay below: in float32, and in float64; and what neither holds, which is refused."""
STRANGE = (-3.4e38, 3.4e38, 1e-45, -0.0, np.nan, np.inf, -np.inf, 0.5, 1.5, 2.5, -0.5, 16777216.5)


class Maker:
    """Draws layers that fit the previous one; the reader refuses those whose sums get too large."""

    def __init__(self, seed: int) -> None:
        self.random, self.apart = np.random.default_rng(seed), np.random.default_rng([seed, 1])

    def network(self) -> tuple:
        layers = (self.quantise(INPUTS),) if self.chance(0.9) else ()
        if layers and self.apart.random() < 0.1:
            layers = (self.erase(INPUTS),)
        with np.errstate(all="ignore"):
            return self.chain(layers, Bounds.anything(INPUTS), length=self.below(9))

    def bounds(self) -> Bounds:
        """Intervals for a layer alone, one for all values or one for each: a flat row, or a series, often short."""
        shape = (1 + self.below(5), 1 + self.below(3)) if self.chance(0.6) else (1 + self.below(INPUTS),)
        each = shape if self.chance(0.6) else (1,) * len(shape)
        most = int(self.random.choice(ENDS))
        widths = [0, 1, 2, most, 2 * most]
        low = self.random.integers(-most, most + 1, size=each).astype(np.float64)
        high = np.minimum(low + self.random.choice(widths, size=each), most)
        if self.chance(0.4):
            low, high = np.minimum(np.abs(low), np.abs(high)), np.maximum(np.abs(low), np.abs(high))
        if self.chance(0.3):
            low, high = -high, -low
        if self.apart.random() < 0.1:  # in and around [0, 1], as windows are
            low, high = low / (2 * most) + 0.25, high / (2 * most) + 0.5
            return Bounds.rounded(*(np.broadcast_to(end, shape).copy() for end in (low, high)))
        low, high = (np.broadcast_to(end, shape).copy() for end in (low, high))
        return Bounds(low, high, whole=True) if self.chance(0.8) else Bounds.rounded(low / 3, high / 3)

    def erase(self, values: int) -> Erase:
        rank = int(self.apart.integers(1, values))
        pivots = np.sort(self.apart.permutation(values)[:rank])
        others = self.apart.integers(-(1 << 15) + 1, 1 << 15, size=(rank, values - rank))
        return Erase(pivots.astype(np.int32), others.astype(np.int32))

    def rows(self, count: int) -> np.ndarray:
        rows = self.random.normal(size=(count, INPUTS)) * 10.0 ** self.random.integers(-3, 9, size=(count, 1))
        strange = self.random.random(rows.shape) < 0.15
        rows[strange] = self.random.choice(STRANGE, size=int(strange.sum()))
        return rows

    def chain(self, layers: tuple, given: Bounds, *, length: int, depth: int = 0) -> tuple:
        for _ in range(length):
            try:
                layers = (*layers, *self.layer(prepare(layers, given).bounds, depth))
            except BundleError:
                break
        return layers

    def layer(self, given: Bounds, depth: int) -> tuple:
        if len(given.shape) == 1 and given.shape[0] > 1 and self.apart.random() < 0.06:
            return (self.erase(given.shape[0]),)
        kinds = ["round", "table", "scale", "residual"]
        if not given.whole and self.chance(0.6):
            kinds = ["round", "round", "scale", "residual"]
        elif len(given.shape) == 1:
            kinds += ["quantise", "affine", "affine", "unflatten", "unflatten", "unflatten", "concatenation", "argmax"]
        else:
            kinds += ["flatten", "convolution", "convolution", "spectrum", "spectrum", "statistics", "statistics"]
        return getattr(self, f"_{self.random.choice(kinds)}")(given, depth)

    def quantise(self, values: int) -> Quantise:
        copies, scale = 1 + self.below(3) * self.chance(0.3), 6 * (1 - self.chance(0.05) * 10)
        factor = self.integers(copies, values)
        return Quantise(self.integers(copies, values), scale, np.where(factor == 0, 1, factor), scale, self.clip())

    def clip(self) -> Clip:
        """Draws a clip around 0, from 0 upwards, or of a few integers far from 0."""
        most = int(self.random.choice(ENDS))
        if self.chance(0.2):
            far = max(0, most - 1 - self.below(3))
            return Clip(far, most) if self.chance(0.5) else Clip(-most, -far)
        return Clip(0 if self.chance(0.4) else -most, most)

    def product(self, *shape: int, most: np.ndarray) -> Product:
        """Draws weights whose sums end just below their bound, or anywhere."""
        weights, outputs = self.integers(*shape), shape[-1]
        sums = np.abs(weights).reshape(-1, outputs).astype(np.float64)
        sums = np.tile(most, len(sums) // len(most)) @ sums
        room = float(self.random.choice(SUMS)) - float(sums.max())
        if room >= 1 and np.isfinite(room) and self.chance(0.5):
            bias_shift = max(0, int(room).bit_length() - 15)
            bias = np.full(outputs, min(int(room) >> bias_shift, 32766) + self.below(3) - 1, np.int32)
            bias *= self.random.choice([-1, 1], size=outputs)
        else:
            bias_shift, bias = self.below(8), self.integers(outputs)
        shift = self.random.choice([0, 0, 3, 9, 17, -2], size=outputs if self.chance(0.5) else 1)
        shift = np.where(self.random.random(outputs) < 0.03, -64, np.broadcast_to(shift, outputs))
        return Product(weights, bias, bias_shift, shift.astype(np.int32))

    def integers(self, *shape: int) -> np.ndarray:
        """Of one sign at times, so that sums come to what they must stay below; then up to what 16 bits hold."""
        most = int(self.random.choice([2, 127, 127, 32767]))
        found = self.random.integers(-most, most + 1, size=shape).astype(np.int32)
        if not self.chance(0.15):
            return found
        return 2 * np.abs(found) + 1 if most == 32767 and self.apart.random() < 0.5 else np.abs(found)

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def below(self, count: int) -> int:
        return int(self.random.integers(count))

    def _quantise(self, given, _):
        return (self.quantise(given.shape[0]),)

    def _round(self, *_):
        return (Round(self.clip()),)

    def _table(self, *_):
        low = int(self.random.choice([-self.below(200), self.below(200), 1 << 23, -(1 << 23)]))
        return (Table(self.integers(2 + self.below(300)), low),)

    def _scale(self, *_):
        return (Scale(64 * (1 - 2 * self.below(2)) if self.chance(0.3) else self.below(20) - 6),)

    def _affine(self, given, _):
        return (Affine(self.product(given.shape[0], 1 + self.below(6), most=given.most)),)

    def _convolution(self, given, _):
        width = 1 + self.below(min(4, given.shape[0]))
        product = self.product(width, given.shape[1], 1 + self.below(4), most=given.most.max(axis=0))
        return (Convolution(product, stride=1 + self.below(2), padding=self.below(width)),)

    def _spectrum(self, given, _):
        waves = (self.integers(given.shape[0]) for _ in range(2))
        return (Spectrum(*waves, int(self.random.choice([0, 7, 14, -3, -64]))),)

    def _statistics(self, *_):
        return (Statistics(),)

    def _unflatten(self, given, _):
        values = given.shape[0]
        return (Unflatten(int(self.random.choice([each for each in range(1, values + 1) if values % each == 0]))),)

    def _flatten(self, *_):
        return (Flatten(),)

    def _residual(self, given, depth):
        inner = self.chain((), given, length=self.below(3) if depth < 3 else 0, depth=depth + 1)
        return (Residual(inner),)

    def _concatenation(self, given, depth):
        if depth >= 3 or given.shape[0] > 200:
            return ()
        lengths = [self.below(4) for _ in range(1 + self.below(3))]
        branches = [self.chain((), given, length=length, depth=depth + 1) for length in lengths]
        return (Concatenation(tuple(self._flattened(branch, given) for branch in branches)),)

    def _flattened(self, branch, given):
        return (*branch, Flatten()) if len(prepare(branch, given).bounds.shape) == 2 else branch

    def _argmax(self, given, _):
        values = given.shape[0]
        classes = (2, values - 2) if values > 3 and self.chance(0.5) else (values,)
        codes = self.random.integers(9, size=int(np.prod(classes))).astype(np.int32)
        return (Argmax(classes, codes),)
