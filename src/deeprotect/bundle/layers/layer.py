"""What every layer is: a pure function of one row, whose shapes are known before anything is computed."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deeprotect.bundle.layers.tensors import TensorWriter
from deeprotect.errors import BundleError

Float32s = NDArray[np.float32]
Shape = tuple[int, ...]
"""Of one row: (value,) or, for a series, (time, channel); arrays of rows are (*shape, row)."""
MOST_VALUES = 1 << 20
"""Of one row anywhere in a network: what a layer may ask memory for."""


class Layer(ABC):
    """(*shape, row) in, (*shape, row) out; row i of the result depends on row i alone.

    Rows come last, so that they lie side by side in memory: each step of a layer then runs along many rows at once,
    and a stretch of a series is a matrix without a copy. It takes a third of the time that rows first take.
    """

    op: ClassVar[str]

    @abstractmethod
    def shape(self, given: Shape) -> Shape:
        """The shape of a result; a BundleError where rows of the given shape do not fit."""

    def work(self, given: Shape) -> int:
        """Multiplications, roughly, for one row of the given shape."""
        return math.prod(self.shape(given))

    @abstractmethod
    def __call__(self, rows: Float32s) -> Float32s: ...

    def overwriting(self, rows: Float32s) -> Float32s:
        """The same of rows that nobody else needs, whose memory may be used for the result."""
        return self(rows)

    @abstractmethod
    def to_json(self, tensors: TensorWriter) -> dict[str, Any]: ...


def flat(given: Shape, op: str) -> int:
    """The number of values of a flat row."""
    if len(given) != 1:
        raise BundleError(f"layer {op} takes flat rows, not series")
    return given[0]


def series(given: Shape, op: str) -> tuple[int, int]:
    """(time, channel) of a series."""
    if len(given) != 2:
        raise BundleError(f"layer {op} takes series, not flat rows")
    return given[0], given[1]


def bounded(shape: Shape, op: str) -> Shape:
    """The shape, refused where one row of it would ask for too much memory."""
    if min(shape) < 1 or np.prod([float(size) for size in shape]) > MOST_VALUES:
        raise BundleError(f"layer {op} makes rows of no value or of more than {MOST_VALUES}; train again")
    return shape


def tagged(op: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"op": op, **fields}
