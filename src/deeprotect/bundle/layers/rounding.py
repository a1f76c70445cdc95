"""Layers that round: values one by one onto whole numbers between stated bounds, or through a table of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from deeprotect.bundle.layers.layer import EXACT_FLOAT32, Array, Layer, Prepared, Reach, checked, flat, handed, tagged
from deeprotect.bundle.layers.products import LARGEST_SHIFT
from deeprotect.bundle.layers.tensors import Integers, TensorReader, TensorWriter
from deeprotect.errors import BundleError
from deeprotect.privacy.json_reader import JsonReader


@dataclass(frozen=True)
class Bounds:
    """Whole numbers between which rounded values are clipped; float32 holds all of them."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if not -EXACT_FLOAT32 < self.low < self.high < EXACT_FLOAT32:
            raise BundleError(f"a layer clips to [{self.low}, {self.high}], which is no range below 2^24; train again")

    @property
    def most(self) -> float:
        return float(max(-self.low, self.high))

    def rounding(self, given: Reach) -> Callable[[Array, Array], Array]:
        """To the nearest whole numbers, of two the even one, into the second argument; no number counts as 0."""
        low, high = np.array(self.low, np.float32), np.array(self.high, np.float32)  # clip is slow to take scalars
        finite, zero = bool(np.isfinite(given.most).all()), min(max(0, self.low), self.high)

        def rounded(values: Array, out: Array) -> Array:
            np.rint(values, out=out, casting="same_kind")
            out.clip(low, high, out=out)
            if not finite and np.isnan(np.vdot(out, out)):  # the soonest way to know that some are no numbers
                np.copyto(out, zero, where=np.isnan(out))
            return out

        return rounded

    @classmethod
    def read(cls, fields: JsonReader) -> "Bounds":
        return cls(fields.integer("low"), fields.integer("high"))

    def to_json(self) -> dict[str, int]:
        return {"low": self.low, "high": self.high}


@dataclass(frozen=True, eq=False)
class Quantise(Layer):
    """(x − shift · 2^-shift_scale) · factor · 2^-factor_scale, rounded and clipped; each step in float32.

    The tensors are (copy, value): with several copies of a value, each has a ramp of its own, as the bins of a
    piecewise linear encoding have (Gorishniy et al. 2022); the result is flat, value fastest.
    """

    shift: Integers
    shift_scale: int
    factor: Integers
    factor_scale: int
    bounds: Bounds
    op: ClassVar[str] = "quantise"

    def prepare(self, given: Reach) -> Prepared:
        copies, values = self.shift.shape
        if flat(given, self.op) != values or self.factor.shape != self.shift.shape or not self.factor.all():
            raise BundleError(f"layer {self.op}: {copies} × {values} factors do not fit; train again")
        if max(abs(self.shift_scale), abs(self.factor_scale)) > LARGEST_SHIFT:
            raise BundleError(f"layer {self.op}: a scale beyond 2^{LARGEST_SHIFT}; train again")
        checked((copies * values,), self.op)
        shift, factor, rounded = *self.ramps, self.bounds.rounding(given)
        reuse = given.ours and copies == 1

        def step(rows: Array, out: Array | None) -> Array:
            rows = rows.astype(np.float32, copy=False)
            moved = np.subtract(rows, shift, out=rows[None] if reuse else None)
            moved *= factor
            moved = moved.reshape(copies * values, -1)
            return rounded(moved, moved if out is None else out)

        most = np.full(copies * values, self.bounds.most)
        return Prepared(step, Reach(most, whole=True), 4 * copies * values)

    @property
    def ramps(self) -> tuple[Array, Array]:
        """Where each begins, and how steep it is: (copy, value, 1)."""
        shift = np.ldexp(self.shift.astype(np.float32), -self.shift_scale)
        return shift[:, :, None], np.ldexp(self.factor.astype(np.float32), -self.factor_scale)[:, :, None]

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        fields = {"shift": tensors.put(self.shift), "shift_scale": self.shift_scale}
        fields |= {"factor": tensors.put(self.factor), "factor_scale": self.factor_scale}
        return tagged(self.op, {**fields, **self.bounds.to_json()})

    @classmethod
    def read(cls, fields: JsonReader, tensors: TensorReader) -> "Quantise":
        shift, factor = (tensors.integers(fields.text(name), axes=2) for name in ("shift", "factor"))
        scales = fields.integer("shift_scale"), fields.integer("factor_scale")
        return cls(shift, scales[0], factor, scales[1], Bounds.read(fields))


@dataclass(frozen=True)
class Round(Layer):
    """To the nearest whole number, clipped; with a lower bound of 0 it is a rectifier, too."""

    bounds: Bounds
    op: ClassVar[str] = "round"

    def prepare(self, given: Reach) -> Prepared:
        rounded, ours = self.bounds.rounding(given), given.ours

        def step(rows: Array, out: Array | None) -> Array:
            if out is None:
                out = rows if ours and rows.dtype == np.float32 else np.empty(rows.shape, np.float32)
            return rounded(rows, out)

        most = np.floor(np.minimum(given.most + 1, self.bounds.most))
        return Prepared(step, Reach(most, whole=True), 3 * most.size)

    def to_json(self, _: TensorWriter) -> dict[str, Any]:
        return tagged(self.op, self.bounds.to_json())

    @classmethod
    def read(cls, fields: JsonReader, _: TensorReader) -> "Round":
        return cls(Bounds.read(fields))


@dataclass(frozen=True, eq=False)
class Table(Layer):
    """Rounded, and looked up: the first of the values stands for `low` and whatever is below it, the last for the rest.

    So tanh and sigmoid are the same numbers everywhere.
    """

    values: Integers
    low: int
    op: ClassVar[str] = "table"

    def prepare(self, given: Reach) -> Prepared:
        rounded = Bounds(self.low, self.low + len(self.values) - 1).rounding(given)
        values, low = self.values.astype(np.float32), np.int64(self.low)

        def step(rows: Array, out: Array | None) -> Array:
            place = rounded(rows, np.empty(rows.shape, np.float32)).astype(np.int64)
            place -= low
            return handed(values.take(place), out)

        most = np.full(given.shape, float(np.abs(values).max()))
        return Prepared(step, Reach(most, whole=True), 5 * most.size)

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        return tagged(self.op, {"values": tensors.put(self.values), "low": self.low})

    @classmethod
    def read(cls, fields: JsonReader, tensors: TensorReader) -> "Table":
        return cls(tensors.integers(fields.text("values")), fields.integer("low"))


@dataclass(frozen=True)
class Scale(Layer):
    """Times 2^-shift, which is exact: the way from whole numbers to the units of a feature or a window."""

    shift: int
    op: ClassVar[str] = "scale"

    def prepare(self, given: Reach) -> Prepared:
        if abs(self.shift) > LARGEST_SHIFT:
            raise BundleError(f"layer {self.op}: a scale beyond 2^{LARGEST_SHIFT}; train again")
        factor = np.float32(2.0**-self.shift)

        def step(rows: Array, out: Array | None) -> Array:
            return np.multiply(rows, factor, out=rows if out is None and given.ours else out, casting="same_kind")

        return Prepared(step, Reach(np.ldexp(given.most, -self.shift), whole=False, kind=given.kind), given.most.size)

    def to_json(self, _: TensorWriter) -> dict[str, Any]:
        return tagged(self.op, {"shift": self.shift})

    @classmethod
    def read(cls, fields: JsonReader, _: TensorReader) -> "Scale":
        return cls(fields.integer("shift"))
