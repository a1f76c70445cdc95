"""The public windows of a channel: a table of numbers, one row for each index that it can release."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from deeprotect.bundle.layers.tensors import Integers, TensorReader, TensorWriter
from deeprotect.errors import BundleError
from deeprotect.privacy.json_reader import JsonReader
from deeprotect.signals.schema import Floats

STEPS = 1 << 15
"""Of the public range, as fine as most sensors are."""


@dataclass(frozen=True, eq=False)
class OutputTable:
    """Released indices (row, 1) to scaled windows (row, value); steps is (index, value), 0 to STEPS."""

    steps: Integers
    inputs = 1

    def __post_init__(self) -> None:
        if self.steps.ndim != 2 or not ((self.steps >= 0) & (self.steps <= STEPS)).all():
            raise BundleError("a released window has values outside the public range; train again")

    @classmethod
    def of(cls, windows: Floats) -> Self:
        """Windows (index, value) in [0, 1], on the nearest steps."""
        return cls(np.rint(windows * STEPS).astype(np.int32))

    @property
    def windows(self) -> Floats:
        """(index, value), in [0, 1]."""
        return self.steps / STEPS

    @property
    def outputs(self) -> int:
        return int(self.steps.shape[1])

    def __call__(self, index: Floats) -> Floats:
        return self.steps[index[:, 0].astype(np.int64)] / STEPS

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        return {"outputs": tensors.put(self.steps)}

    @classmethod
    def read(cls, fields: JsonReader, tensors: TensorReader) -> Self:
        return cls(tensors.integers(fields.text("outputs"), axes=2))
