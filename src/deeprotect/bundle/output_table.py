"""The public windows of a channel: a table of numbers, one row for each index that it can release."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deeprotect.bundle.layers.tensors import TensorReader, TensorWriter
from deeprotect.errors import BundleError
from deeprotect.privacy.json_reader import JsonReader
from deeprotect.signals.schema import Floats


@dataclass(frozen=True, eq=False)
class OutputTable:
    """Released indices (row, 1) to scaled windows (row, value); windows is (index, value), in [0, 1]."""

    windows: NDArray[np.float32]
    inputs = 1

    def __post_init__(self) -> None:
        if self.windows.ndim != 2 or not ((self.windows >= 0) & (self.windows <= 1)).all():
            raise BundleError("a released window has values outside the public range; train again")

    @property
    def outputs(self) -> int:
        return int(self.windows.shape[1])

    def __call__(self, index: Floats) -> Floats:
        return self.windows[index[:, 0].astype(np.int64)].astype(np.float64)

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        return {"outputs": tensors.put(self.windows)}

    @classmethod
    def read(cls, fields: JsonReader, tensors: TensorReader) -> Self:
        return cls(tensors.floats(fields.text("outputs"), axes=2))
