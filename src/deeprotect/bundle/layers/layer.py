"""The base of all layers: functions of one row in exact arithmetic, with bounds known before anything is computed.

Values are held in float32 or float64, and are integers wherever they are summed. A sum of integers is
exact in any order as long as no partial sum exceeds the integers that the type holds: below 2^24 in float32, below
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
"""The shape of one row: (value,) or, for a series, (time, channel)."""
Kind = type[np.floating[Any]]
MOST_VALUES = 1 << 20
"""The most values that one row may have anywhere in a network; limits memory."""
MOST_WORK = 1 << 25
"""The most multiplications for one row, about a millisecond."""
EXACT_FLOAT32, EXACT_FLOAT64 = 1 << 24, 1 << 52
"""Sums below these are exact; half of 2^53 leaves room for the rounding of the bound itself."""
LARGEST = 2.0**62
"""Squares of smaller values fit into float32; larger values could become infinite or NaN."""


@dataclass
class Footprint:
    """The work that a network and its branches may still use for one row, and the largest sum of any layer.

    A small bundle could name one large layer again and again.
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
    """The possible values of a row: an interval [low, high] for each, whether they are integers, and their type.

    A value with infinite ends can be anything, even NaN. `ours`: no other layer needs the values, so the next one may
    overwrite them. docs/claims.md#exact-networks
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    whole: bool
    kind: Kind = np.float32
    ours: bool = True
    footprint: Footprint = field(default_factory=Footprint)

    @classmethod
    def anything(cls, values: int) -> "Bounds":
        """The bounds of a network's input: none."""
        high = np.full(checked((values,), "input"), np.inf)
        return cls(-high, high, whole=False)

    @classmethod
    def between(cls, low: float, high: float, shape: Shape) -> "Bounds":
        """Integers in one interval, in float32."""
        return cls(np.full(shape, float(low)), np.full(shape, float(high)), whole=True)

    @classmethod
    def rounded(cls, low: NDArray[np.float64], high: NDArray[np.float64]) -> "Bounds":
        """For results rounded to float32: each end is moved outward by one float32."""
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
        """The least and the largest value of each channel of a series."""
        return self.low.min(axis=0), self.high.max(axis=0)

    def after(self, layer: "Prepared") -> "Bounds":
        """The bounds after a layer; a value that could exceed ±LARGEST can be anything."""
        made = layer.bounds
        known = made.most < LARGEST
        low, high = np.where(known, made.low, -np.inf), np.where(known, made.high, np.inf)
        self.footprint.spend(layer.work)
        return replace(made, low=low, high=high, footprint=self.footprint)

    def require_whole(self, op: str) -> None:
        """Refuse to sum values that are not integers."""
        if not self.whole:
            raise BundleError(f"layer {op}: what it adds up is not rounded to whole numbers; train again")

    def exact_type(self, bound: float, op: str) -> Kind:
        """The number type in which sums of integers up to `bound` are exact."""
        self.footprint.largest_sum = max(self.footprint.largest_sum, bound)
        if not bound < EXACT_FLOAT64:
            raise BundleError(f"layer {op}: its sums could exceed the whole numbers that are exact; train again")
        return np.float32 if bound < EXACT_FLOAT32 else np.float64

    def require_float32(self, op: str) -> None:
        """Refuse values that are not float32: values that are concatenated or added must have one type."""
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
"""Maps (*shape, row) to (*shape, row), written into the second argument if it is given."""


@dataclass(frozen=True)
class Prepared:
    """A layer ready to run on rows of known bounds: its step, its bounds, and roughly its multiplications and passes
    for one row, without those of layers inside it, which are counted separately."""

    step: Step
    bounds: Bounds
    work: int


class Layer(ABC):
    """Row i of the result depends on row i alone.

    Rows are the last axis, so they are contiguous in memory: each step runs along many rows at once, and a stretch of a
    series is a matrix without a copy. That takes a third of the time of rows first.
    """

    op: ClassVar[str]

    @abstractmethod
    def prepare(self, given: Bounds) -> Prepared:
        """Prepares the layer for rows of these bounds; refuses those that do not fit, and inexact sums."""

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        return {"op": self.op, **stored(self, tensors)}

    @classmethod
    def read(cls, record: JsonReader, tensors: TensorReader) -> Self:
        """What `to_json` wrote."""
        return _restored(cls, record, tensors)


def handed(values: Array, out: Array | None) -> Array:
    """Copies a result into `out`, if that is given."""
    if out is None:
        return values
    out[...] = values
    return out


def checked(shape: Shape, op: str) -> Shape:
    """Returns the shape; refuses one whose rows would need too much memory."""
    if min(shape) < 1 or np.prod([float(size) for size in shape]) > MOST_VALUES:
        raise BundleError(f"layer {op} makes rows of no value or of more than {MOST_VALUES}; train again")
    return shape


AS_THE_LAYER_SAYS = 0
"""For a tensor whose number of axes depends on the layer."""
Part = TypeVar("Part")


def _restored(kind: type[Part], record: JsonReader, tensors: TensorReader, *, axes: int = 1) -> Part:
    """Reads fields by their types, as `stored` writes them; a tensor has one axis unless its field says otherwise."""
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
    """The fields of a layer for the manifest: arrays go to the tensors, and nested dataclasses are flattened."""
    body: dict[str, Any] = {}
    for each in fields(part):
        value = getattr(part, each.name)
        if is_dataclass(value):
            body |= stored(value, tensors)
        else:
            body[each.name] = tensors.put(value) if isinstance(value, np.ndarray) else value
    return body
