"""What every layer is: a function of one row in exact arithmetic, whose bounds are known before anything is computed.

Values on the way are held in float32 or float64, and whole wherever they are added up. A sum of whole numbers is
exact in any order as long as no partial sum leaves the whole numbers that the type holds: below 2^24 in float32, below
2^53 in float64. So block, place, threads, machine and language make no difference. docs/claims.md#exact-networks
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from deeprotect.bundle.layers.tensors import Integers, TensorReader, TensorWriter
from deeprotect.errors import BundleError
from deeprotect.privacy.json_reader import JsonReader

Array = NDArray[np.floating[Any]]
"""Rows: (*shape, row)."""
Shape = tuple[int, ...]
"""Of one row: (value,) or, for a series, (time, channel)."""
Kind = type[np.floating[Any]]
MOST_VALUES = 1 << 20
"""Of one row anywhere in a network: what a layer may ask memory for."""
MOST_WORK = 1 << 25
"""For one row, about a millisecond."""
EXACT_FLOAT32, EXACT_FLOAT64 = 1 << 24, 1 << 52
"""Sums below are exact; a factor of two below 2^53 covers the rounding of the bound itself."""
LARGEST = 2.0**62
"""Squares of what is below stay in float32; what is not could be infinite, or no number."""


@dataclass
class Footprint:
    """Of a network, its branches included: multiplications and passes for one row that it may still take, and the
    largest sum that any of its layers can come to.

    A bundle of few bytes could name one large layer again and again.
    """

    left: int = MOST_WORK
    largest_sum: float = 0.0

    @property
    def spent(self) -> int:
        return MOST_WORK - self.left

    def spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise BundleError(f"a network takes more than {MOST_WORK} multiplications for one window; train again")


@dataclass(frozen=True, eq=False)
class Bounds:
    """What the values of a row can be: each lies in its interval [low, high]; whole or not, and of which type.

    A value with infinite ends can be anything, NaN included. Where values are `ours`, no other layer needs them, and
    the next one may write over them. docs/claims.md#exact-networks
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    whole: bool
    kind: Kind = np.float32
    ours: bool = True
    footprint: Footprint = field(default_factory=Footprint)

    @classmethod
    def anything(cls, values: int) -> "Bounds":
        """Of what comes from outside."""
        high = np.full(checked((values,), "input"), np.inf)
        return cls(-high, high, whole=False)

    @classmethod
    def between(cls, low: float, high: float, shape: Shape) -> "Bounds":
        """Whole numbers in one interval, in float32."""
        return cls(np.full(shape, float(low)), np.full(shape, float(high)), whole=True)

    @classmethod
    def rounded(cls, low: NDArray[np.float64], high: NDArray[np.float64]) -> "Bounds":
        """Of results that are rounded to float32: one float32 further out at either end."""
        infinity = np.float32(np.inf)
        lower, higher = np.nextafter(low.astype(np.float32), -infinity), np.nextafter(high.astype(np.float32), infinity)
        return cls(lower.astype(np.float64), higher.astype(np.float64), whole=False)

    @property
    def shape(self) -> Shape:
        return self.low.shape

    @property
    def most(self) -> NDArray[np.float64]:
        """The largest magnitude of each value."""
        return np.maximum(-self.low, self.high)

    @property
    def hull(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of a series: the least and the largest value of each channel."""
        return self.low.min(axis=0), self.high.max(axis=0)

    def after(self, layer: "Prepared") -> "Bounds":
        """What comes out of a layer; a value that could leave ±LARGEST can be anything."""
        made = layer.bounds
        known = made.most < LARGEST
        low, high = np.where(known, made.low, -np.inf), np.where(known, made.high, np.inf)
        self.footprint.spend(layer.work)
        return replace(made, low=low, high=high, footprint=self.footprint)

    def require_whole(self, op: str) -> None:
        """Of what is added up."""
        if not self.whole:
            raise BundleError(f"layer {op}: what it adds up is not rounded to whole numbers; train again")

    def exact_type(self, bound: float, op: str) -> Kind:
        """The number type in which sums of whole numbers are exact that are at most `bound`."""
        self.footprint.largest_sum = max(self.footprint.largest_sum, bound)
        if not bound < EXACT_FLOAT64:
            raise BundleError(f"layer {op}: its sums could exceed the whole numbers that are exact; train again")
        return np.float32 if bound < EXACT_FLOAT32 else np.float64

    def require_float32(self, op: str) -> None:
        """Values that stand beside others, or are added to them one by one, are of one type everywhere."""
        if self.kind is not np.float32 or (self.whole and not self.most.max() < EXACT_FLOAT32):
            raise BundleError(f"layer {op}: what it takes is larger than float32 holds exactly; train again")

    def flat(self, op: str) -> int:
        """The number of values of a flat row."""
        if len(self.shape) != 1:
            raise BundleError(f"layer {op} takes flat rows, not series")
        return self.shape[0]

    def series(self, op: str) -> tuple[int, int]:
        """(time, channel) of a series."""
        if len(self.shape) != 2:
            raise BundleError(f"layer {op} takes series, not flat rows")
        return self.shape[0], self.shape[1]


Step = Callable[[Array, Array | None], Array]
"""(*shape, row) in, (*shape, row) out, into the second argument where there is one."""


@dataclass(frozen=True)
class Prepared:
    """A layer ready to run on rows of known bounds: what it does, what comes out, and roughly the multiplications and
    passes for one row, without those of layers inside it, which have spent their own."""

    step: Step
    bounds: Bounds
    work: int


class Layer(ABC):
    """Row i of the result depends on row i alone.

    Rows come last, so that they lie side by side in memory: each step of a layer then runs along many rows at once,
    and a stretch of a series is a matrix without a copy. It takes a third of the time that rows first take.
    """

    op: ClassVar[str]

    @abstractmethod
    def prepare(self, given: Bounds) -> Prepared:
        """For rows of the given bounds; a BundleError where they do not fit, or where a sum could be inexact."""

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        return {"op": self.op, **stored(self, tensors)}

    @classmethod
    def read(cls, record: JsonReader, tensors: TensorReader) -> Self:
        """What `to_json` wrote."""
        return _restored(cls, record, tensors)


def handed(values: Array, out: Array | None) -> Array:
    """A result that lies elsewhere, in the place that was asked for, where there is one."""
    if out is None:
        return values
    out[...] = values
    return out


def checked(shape: Shape, op: str) -> Shape:
    """The shape, refused where one row of it would ask for too much memory."""
    if min(shape) < 1 or np.prod([float(size) for size in shape]) > MOST_VALUES:
        raise BundleError(f"layer {op} makes rows of no value or of more than {MOST_VALUES}; train again")
    return shape


AS_THE_LAYER_SAYS = 0
"""Axes of a tensor whose shape is another in each layer that has it."""
Part = TypeVar("Part")


def _restored(kind: type[Part], record: JsonReader, tensors: TensorReader, *, axes: int = 1) -> Part:
    """Field by field, by their types, as `stored` lays them out; a tensor has one axis unless its field says more."""
    found: dict[str, Any] = {}
    for each in fields(kind):  # type: ignore[arg-type]  # dataclasses all
        own = each.metadata.get("axes", 1)
        if isinstance(each.type, type) and is_dataclass(each.type):
            found[each.name] = _restored(each.type, record, tensors, axes=own)
        elif each.type == Integers:
            found[each.name] = tensors.integers(record.text(each.name), axes=own or axes)
        else:
            found[each.name] = record.read(each.name, each.type)
    return kind(**found)


def stored(part: Any, tensors: TensorWriter) -> dict[str, Any]:
    """The fields of a layer as a manifest has them: arrays lie with the tensors, what has fields of its own is laid
    out beside the others."""
    body: dict[str, Any] = {}
    for each in fields(part):
        value = getattr(part, each.name)
        if is_dataclass(value):
            body |= stored(value, tensors)
        else:
            body[each.name] = tensors.put(value) if isinstance(value, np.ndarray) else value
    return body
