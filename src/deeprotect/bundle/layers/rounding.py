"""Layers that round values one by one, to integers or through a table, and the layer that decides."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from deeprotect.bundle.layers.layer import EXACT_FLOAT32, Array, Bounds, Layer, Prepared, checked, handed
from deeprotect.bundle.layers.products import LARGEST_SHIFT
from deeprotect.bundle.layers.tensors import Integers, TensorReader, TensorWriter
from deeprotect.errors import BundleError
from deeprotect.privacy.json_reader import JsonReader

LARGEST_CODE = 1 << 15
NO_SUPPORT = -(1 << 50)
"""The support of a code without a combination of classes: below any sum of scores, and 1024 of them do not overflow."""


@dataclass(frozen=True)
class Clip:
    """Rounds to the nearest integer, ties to even, and clips to ends that float32 holds."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if not -EXACT_FLOAT32 < self.low < self.high < EXACT_FLOAT32:
            raise BundleError(f"a layer clips to [{self.low}, {self.high}], which is no range below 2^24; train again")

    def bounds(self, given: Bounds) -> Bounds:
        """The bounds after clipping, which raises what lies below and lowers what lies above."""
        low, high = (np.clip(np.rint(end), self.low, self.high) for end in (given.low, given.high))
        return Bounds(low, high, whole=True)

    def step(self, given: Bounds) -> Callable[[Array, Array], Array]:
        """The step for values within the bounds, written into the second argument; NaN counts as 0."""
        low, high = np.array(self.low, np.float32), np.array(self.high, np.float32)  # clip is slow with scalars
        finite, zero = bool(np.isfinite(given.most).all()), min(max(0, self.low), self.high)

        def rounded(values: Array, out: Array) -> Array:
            np.rint(values, out=out, casting="same_kind")
            out.clip(low, high, out=out)
            if not finite and (some := np.vdot(out, out)) != some:  # the fastest test for NaN
                np.copyto(out, zero, where=np.isnan(out))
            return out

        return rounded


@dataclass(frozen=True, eq=False)
class Quantise(Layer):
    """(x − shift · 2^-shift_scale) · factor · 2^-factor_scale, rounded and clipped; each step in float32.

    The tensors are (copy, value): with several copies of a value, each has a ramp of its own, as the bins of a
    piecewise linear encoding have (Gorishniy et al. 2022); the result is flat, value fastest.
    """

    shift: Integers = field(metadata={"axes": 2})
    shift_scale: int
    factor: Integers = field(metadata={"axes": 2})
    factor_scale: int
    clip: Clip
    op: ClassVar[str] = "quantise"

    def prepare(self, given: Bounds) -> Prepared:
        copies, values = self.shift.shape
        if given.flat(self.op) != values or self.factor.shape != self.shift.shape or not self.factor.all():
            raise BundleError(f"layer {self.op}: {copies} × {values} factors do not fit; train again")
        if max(abs(self.shift_scale), abs(self.factor_scale)) > LARGEST_SHIFT:
            raise BundleError(f"layer {self.op}: a scale beyond 2^{LARGEST_SHIFT}; train again")
        checked((copies * values,), self.op)
        shift, factor, rounded = *self.ramps, self.clip.step(given)
        reuse, narrow = given.ours and copies == 1, given.kind is np.float32

        def step(rows: Array, out: Array | None) -> Array:
            rows = rows if narrow else rows.astype(np.float32)
            moved = np.subtract(rows, shift, out=rows[None] if reuse else None)
            np.multiply(moved, factor, out=moved)
            moved = moved.reshape(copies * values, -1)
            return rounded(moved, moved if out is None else out)

        return Prepared(step, Bounds.between(self.clip.low, self.clip.high, (copies * values,)), 4 * copies * values)

    @property
    def ramps(self) -> tuple[Array, Array]:
        """Where each ramp begins, and its slope: (copy, value, 1)."""
        shift = np.ldexp(self.shift.astype(np.float32), -self.shift_scale)
        return shift[:, :, None], np.ldexp(self.factor.astype(np.float32), -self.factor_scale)[:, :, None]


@dataclass(frozen=True)
class Round(Layer):
    """Rounds to the nearest integer and clips; with a lower bound of 0 it is a rectifier, too."""

    clip: Clip
    op: ClassVar[str] = "round"

    def prepare(self, given: Bounds) -> Prepared:
        rounded, ours = self.clip.step(given), given.ours

        def step(rows: Array, out: Array | None) -> Array:
            if out is None:
                out = rows if ours and rows.dtype == np.float32 else np.empty(rows.shape, np.float32)
            return rounded(rows, out)

        return Prepared(step, self.clip.bounds(given), 3 * given.low.size)


@dataclass(frozen=True, eq=False)
class Table(Layer):
    """Rounds and looks up in a table: the first value stands for `low` and everything below, the last for the rest.

    So tanh and sigmoid are the same numbers everywhere.
    """

    values: Integers
    low: int
    op: ClassVar[str] = "table"

    def prepare(self, given: Bounds) -> Prepared:
        rounded = Clip(self.low, self.low + len(self.values) - 1).step(given)
        values, low = self.values.astype(np.float32), np.int64(self.low)

        def step(rows: Array, out: Array | None) -> Array:
            place = rounded(rows, np.empty(rows.shape, np.float32)).astype(np.int64)
            place -= low
            return handed(values.take(place), out)

        bounds = Bounds.between(values.min(), values.max(), given.shape)
        return Prepared(step, bounds, 5 * bounds.low.size)


@dataclass(frozen=True)
class Scale(Layer):
    """Multiplies by 2^-shift, exactly: from integers to the units of a feature or a window.

    Results outside float32's normal range are rounded as in float32, in float64, too: JavaScript has float64 only.
    """

    shift: int
    op: ClassVar[str] = "scale"

    def prepare(self, given: Bounds) -> Prepared:
        if abs(self.shift) > LARGEST_SHIFT:
            raise BundleError(f"layer {self.op}: a scale beyond 2^{LARGEST_SHIFT}; train again")
        factor = np.float32(2.0**-self.shift)

        def step(rows: Array, out: Array | None) -> Array:
            return np.multiply(rows, factor, out=rows if out is None and given.ours else out, casting="same_kind")

        def step_in_float64(rows: Array, out: Array | None) -> Array:
            made = rows * np.float64(factor)
            narrow = made.astype(np.float32)
            np.copyto(made, narrow, where=(np.abs(narrow) < np.finfo(np.float32).tiny) | np.isinf(narrow))
            return handed(made, out)

        bounds = Bounds.rounded(np.ldexp(given.low, -self.shift), np.ldexp(given.high, -self.shift))
        exact = step if given.kind is np.float32 else step_in_float64
        return Prepared(exact, replace(bounds, kind=given.kind), given.low.size)


@dataclass(frozen=True, eq=False)
class Argmax(Layer):
    """Maps scores of several inferences, side by side, to one code; of equal scores, the first wins.

    `codes` has the code of every combination of classes, the last inference fastest.
    """

    classes: tuple[int, ...]
    codes: Integers
    op: ClassVar[str] = "argmax"

    def prepare(self, given: Bounds) -> Prepared:
        given.require_whole(self.op)
        given.require_float32(self.op)  # so that sums over the longest episode stay exact
        values, combinations = sum(self.classes), float(np.prod([float(count) for count in self.classes]))
        if not self.classes or min(self.classes) < 1 or given.flat(self.op) != values:
            raise BundleError(f"layer {self.op}: it does not fit {given.shape[0]} scores; train again")
        if self.codes.shape != (combinations,) or self.codes.min() < 0 or self.codes.max() > LARGEST_CODE:
            raise BundleError(f"layer {self.op}: it needs one code for each combination of classes; train again")

        def step(rows: Array, out: Array | None) -> Array:
            return handed(self.decide(rows)[None].astype(np.float32), out)

        return Prepared(step, Bounds.between(self.codes.min(), self.codes.max(), (1,)), 4 * values)

    def decide(self, scores: Array) -> NDArray[np.int64]:
        """Decides on codes for scores (score, row)."""
        combination, end = np.zeros(scores.shape[-1], dtype=np.int64), 0
        for count in self.classes:
            start, end = end, end + count
            combination = combination * count + scores[start:end].argmax(axis=0)
        return self.codes.astype(np.int64)[combination]

    @property
    def labels(self) -> int:
        """The number of codes that it decides between."""
        return int(self.codes.max()) + 1

    def support(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """The support of each code (code, row) from scores (score, row): the best sum of scores of its classes."""
        combined, end = np.zeros((1, scores.shape[-1]), dtype=np.int64), 0
        for count in self.classes:
            start, end = end, end + count
            combined = (combined[:, None] + scores[start:end].astype(np.int64)).reshape(-1, scores.shape[-1])
        best = np.full((self.labels, scores.shape[-1]), NO_SUPPORT)
        np.maximum.at(best, self.codes, combined)
        return best

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        # No code is for abstaining; the format has a field for it.
        return super().to_json(tensors) | {"classes": list(self.classes), "reject": None}

    @classmethod
    def read(cls, record: JsonReader, tensors: TensorReader) -> Self:
        if record.inner("reject") is not None:
            raise BundleError(f"layer {cls.op}: it abstains, which this version does not; train again")
        return super().read(record, tensors)
